"""Sources, plans and sinks, which move the entries of a hierarchy from one directory or archive to another.

``entry``
    A store key with its value, which is read later, or kept until it is written.
``sources/``
    Directories and archives to read, on disks and servers.
``plan``, ``plans/``
    Plans to write a copy, another layout, a part, or recovered values: the metadata, then the data in order.
``sinks/``
    One writer for archives and one for directories, faster writers, verification and checksums.
``chunks/``
    The entries of one array: resharded, transcoded, or moved without decoding.
``repair/``
    Repair of hierarchies that other programs wrote, and of damaged archives.
``read_ahead``
    Values requested from servers before a sink needs them.
``batch``
    Many sources, each into its own file.
``tasks``
    The tasks of a batch on workers that may see other files.
``batch_checks``
    Checks before the first output of a batch: no two sources have the same output, and the disk has room.
``run_log``
    The log of runs: a line for each file.
``source_removal``
    Removal of the unchanged files of a source after its archive is complete.
"""
