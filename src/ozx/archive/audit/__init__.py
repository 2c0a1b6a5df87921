"""Collection of facts about an archive; `ozx.validation` judges them.

``facts``
    All facts about one archive.
``local_headers``, ``descriptors``
    All local headers and all data descriptors, compared with the central directory.
``gaps``, ``unlisted``
    Order of entries, gaps and overlaps; undamaged entries in gaps.
``names``
    Names that are unusual, repeated or refused.
``ambiguities``
    Records that programs understand in different ways.
"""
