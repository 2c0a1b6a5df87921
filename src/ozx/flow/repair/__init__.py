"""Repair damaged archives, and hierarchies that other programs wrote incorrectly.

``hierarchy``
    Open any directory or archive as a repaired source.
``container``, ``names``, ``documents``
    Repairs of the archive, of names and of metadata.
``source``
    The repaired source.
``found_names``
    Repairs of the names in a damaged archive.
``salvage``, ``salvaged``
    Keys for the values of a damaged archive, and the result.
``shards``
    Proven chunks of damaged shards.
``losses``
    Lost regions of arrays.
"""
