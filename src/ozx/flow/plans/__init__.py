"""Plans: what becomes of a source.

``copy``
    A directory unchanged.
``relayout``, ``arrays``
    A hierarchy in another layout or version, and the entries of its arrays.
``subset``
    A part of a hierarchy.
``salvage``
    What is saved of a damaged archive.
"""
