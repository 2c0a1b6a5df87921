"""Repair damaged archives, and hierarchies that other programs wrote incorrectly.

``hierarchy``, ``names``
    Open any directory or archive as a repaired source: its root, and repairs of its metadata, of the archive and of
    names.
``source``
    The repaired source.
``salvage``
    Keys for the values of a damaged archive, the result, and the regions that are lost.
``shards``
    Proven chunks of damaged shards.
"""
