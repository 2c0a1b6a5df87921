"""Plans: what is written of a source, and how.

``copy``
    A directory unchanged.
``relayout``, ``arrays``
    A hierarchy in another layout or version, and the entries of its arrays.
``subset``
    A part of a hierarchy.
``salvage``
    The recovered content of a damaged archive.
"""
