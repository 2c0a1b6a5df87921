"""Edits of OME-Zarr metadata.

``request``
    The changes that a user asks for.
``plan``
    The images to edit and all documents that change.
``image``
    The changed documents of one image, its channels, and the differences in users' terms.
"""
