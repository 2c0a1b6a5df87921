"""JSON documents: parsing, limits, strictness, values that may be missing, changes that keep the style."""
