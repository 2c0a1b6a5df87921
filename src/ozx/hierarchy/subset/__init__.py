"""The documents of a part of a hierarchy: some levels, or a region."""
