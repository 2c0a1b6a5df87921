"""Rules about the ZIP file and about the requirements of RFC-9.

``zip``
    APPNOTE, and protection of readers.
``ambiguities``
    ZIP structures that programs read differently though APPNOTE is followed.
``rfc9``
    RFC-9: parts, ZIP64, compression, order of the entries, comment, file name.
``one_hierarchy``
    RFC-9: exactly one OME-Zarr hierarchy, its nodes, sharding. Holds for directories, too.
"""
