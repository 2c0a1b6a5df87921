"""Hierarchies with faults of other programs, and damaged archives.

``hierarchy``
    Any directory or archive as a source without such faults; lists what was repaired.
``container``, ``names``, ``documents``
    Faults of the archive, of names and of metadata.
``source``
    The repaired source.
``salvage``, ``salvaged``
    Which values of a damaged archive belong to its hierarchy, and the plan of a recovery.
``shards``, ``chunk_proof``
    Chunks of damaged shards, proven by checksums that they contain.
``losses``
    The regions of arrays that are lost.
"""
