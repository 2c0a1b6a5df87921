"""Collection of facts about an archive; `ozx.validation` judges them.

``facts``
    All facts about one archive: its records, its names, and what programs interpret differently.
``local_headers``
    All local headers, compared with the central directory.
``gaps``
    Order of entries, gaps and overlaps; data descriptors; undamaged entries in gaps.
"""
