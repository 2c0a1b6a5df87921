"""Recovery of the entries of a damaged archive.

``scan``
    Entries, right or lost, found by their local headers, without the central directory.
``values``
    The place and length of a value, proven by its CRC-32.
``directory``
    The scanned entries compared with the surviving central directory.
"""
