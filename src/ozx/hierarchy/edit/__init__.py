"""Edits of metadata.

``request``
    The changes that a user asks for.
``plan``
    The images that they concern.
``image``, ``channels``
    The changed documents.
``differences``
    The difference in words.
"""
