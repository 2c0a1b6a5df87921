"""Sources, plans and sinks, which move the entries of a hierarchy from one directory or archive to another.

``entry``
    A store key and a value to be read.
``sources/``
    Directories and archives to read, and the places that paths and URLs name.
``plan``, ``plans/``
    Plans of a copy, of another layout, of a part and of recovered values: metadata to write, then data in order.
``sinks/``
    One writer for archives and one for directories, faster writers, verification and checksums.
``chunks/``
    The entries of one array: resharded, transcoded, cropped, or moved without decoding.
``decoding/``
    Codecs with bounded output, and the codecs that the installed zarr-python can decode.
``repair/``
    Repair of hierarchies that other programs wrote, and of damaged archives.
``editing``
    The documents that an edit of an archive changes.
``read_ahead``
    Values requested from servers before a sink needs them.
``workers``
    The threads of a run.
``batch``
    Many sources, each into its own file.
``space``
    A check that the disk has room for many copies, made before the first copy.
``run_log``
    The log of runs: a line for each file.
``byte_ranges``
    Byte ranges that zarr requests from a store.
``source_removal``
    Removal of the unchanged files of a source after its archive is complete.
"""
