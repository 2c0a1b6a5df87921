"""Sources, plans and sinks, which move the entries of a hierarchy from one directory or archive to another.

``entry``
    A store key and a value to be read.
``sources/``
    Directories and archives to read, and the places that paths and URLs name.
``plan``, ``plans/``
    Metadata to write, then data in order: plans of a copy, another layout, a part, recovered values.
``sinks/``
    One writer for archives and one for directories; faster writers; verification, checksums.
``chunks/``
    The entries of one array: resharded, transcoded, cropped, moved without decoding.
``decoding/``
    Codecs with bounded output, and the codecs that the installed zarr-python can decode.
``repair/``
    Repair of hierarchies that other programs wrote, and of damaged archives.
``read_ahead``
    Values of servers, requested before they are reached.
``workers``
    The threads of a run.
``batch``
    Many sources, each into its own file.
``space``
    The room for many copies, checked before the first is made.
``run_log``
    The log of runs: a line for each file.
``byte_ranges``
    Byte ranges that zarr requests of a store.
``source_removal``
    Removal of the unchanged files of a source after its archive is complete.
"""
