"""Rules about the ZIP file and about the requirements of RFC-9.

``zip``
    The ZIP specification (APPNOTE), safe file names, and limits of common readers.
``ambiguities``
    ZIP structures that programs interpret differently, even if the structures follow APPNOTE.
``rfc9``
    RFC-9: parts, ZIP64, compression, order of the entries, comment, file name.
``one_hierarchy``
    RFC-9: exactly one OME-Zarr hierarchy, its nodes, sharding. These rules apply to directories, too.
"""
