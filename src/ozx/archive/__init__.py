"""Reading and writing of ZIP archives as bytes, without knowledge of Zarr or JSON.

``records``
    One layout per record of APPNOTE.TXT: local file header, central directory header, end records.
``extra_fields``
    The extra fields of records, and the names that some of them hold.
``names/``
    Entry names: decoding, a compact table of a million names, an index by hash.
``directory``, ``columns``
    Finding and checking of the end records and the central directory, archives within archives too; the directory as
    arrays, and entries that are no plain files.
``inflate``
    Deflate and Deflate64.
``entry_reading``, ``entry_blocks``, ``coalesced_reads``
    Reading of one entry's value, of adjacent values with one read, and of many short spans with few reads.
``remote_reading``
    Reading of one entry at a URL with as few requests as possible.
``other_formats``
    Detection of other file formats by first bytes and names, with hints on conversion to .ozx.
``reader``, ``writer``, ``splicing``
    Read entries of an archive; write a new archive; replace the values of some entries in a large archive.
``audit/``, ``recovery/``
    Collection of facts about all records of an archive, without verdicts; recovery of those entries of a damaged
    archive whose CRC-32 matches.

Section numbers in comments are those of PKWARE's APPNOTE.TXT 6.3.10.
"""
