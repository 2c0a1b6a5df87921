"""Edits of OME-Zarr metadata.

``request``
    The changes that a user asks for.
``plan``
    The images to edit and all documents that change.
``image``, ``channels``
    The changed documents of one image.
``differences``
    The difference in words.
"""
