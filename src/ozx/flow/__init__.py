"""Entries flow from a source to a sink: from a directory into an archive, from an archive into a directory.

``entry``
    A store key and a value that is not read yet.
``sources/``
    What is read: directories, archives, subtrees, and the place that a path or URL means.
``content``, ``plain_content``, ``converted_content``
    What goes into an archive: a directory unchanged, or a hierarchy in another layout.
``conversion``, ``converting``, ``extraction``
    A hierarchy in another layout or version, and a part of a hierarchy.
``chunks/``
    The entries of one array: resharded, transcoded, cropped, moved without decoding.
``decoding/``
    Codecs with bounded output, and what the installed zarr-python can decode.
``repair/``
    Hierarchies with faults of other programs, and damaged archives.
``sinks/``, ``conversion_sink``
    What is written: archives and directories; the fast ways; verification, checksums.
``byte_ranges``
    Byte ranges that zarr requests of a store.
``batch``
    Many sources, each into a file of its own.
``source_removal``
    Removal of a source once its archive is complete: only files that are unchanged since.
"""
