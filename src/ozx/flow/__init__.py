"""Source, plan, sink: the entries of a hierarchy flow from a directory or an archive into another one.

``entry``
    A store key and a value that is not read yet.
``sources/``
    What is read: directories, archives, subtrees, and the place that a path or URL means.
``plan``, ``plans/``
    What is written: metadata, then data in order; plans for a copy, another layout, a part, what is saved.
``sinks/``
    One writer for archives and one for directories; the fast ways; verification, checksums.
``chunks/``
    The entries of one array: resharded, transcoded, cropped, moved without decoding.
``decoding/``
    Codecs with bounded output, and what the installed zarr-python can decode.
``repair/``
    Hierarchies with faults of other programs, and damaged archives.
``workers``
    The threads of a run.
``batch``
    Many sources, each into a file of its own.
``byte_ranges``
    Byte ranges that zarr requests of a store.
``source_removal``
    Removal of a source once its archive is complete: only files that are unchanged since.
"""
