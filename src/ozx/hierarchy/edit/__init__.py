"""Edits of OME-Zarr metadata.

``axis_values``
    Pixel sizes and units as text.
``request``
    The changes that a user asks for.
``plan``
    The images to edit and all documents that change.
``image``, ``channels``
    The changed documents of one image.
``differences``
    The differences that an edit makes, in words.
"""
