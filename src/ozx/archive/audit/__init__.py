"""Collection of facts about an archive; `ozx.validation` judges them.

``facts``
    All facts about one archive.
``local_headers``, ``descriptors``
    All local headers and all data descriptors, compared with the central directory.
``gaps``
    Order of entries, gaps and overlaps.
``names``
    Names that are unusual, repeated or refused.
``ambiguities``
    Records that programs understand in different ways.
"""
