"""Recovery of the entries of a damaged archive.

``scan``
    Entries found by their local headers, without the central directory.
``values``
    The place and length of a value, proven by its CRC-32.
``directory``
    The scanned entries compared with the surviving central directory.
``listed_rows``
    Rows of the central directory whose offsets are shifted or damaged.
``entries``, ``evidence``
    The results of the scan and of the comparison.
"""
