"""The ``ome`` attributes: versions, transformations, units, rendering."""
