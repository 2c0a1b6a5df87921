"""Rules about Zarr metadata documents and stored values.

``documents``
    Zarr core 3.1 and Zarr v2: JSON, fields of every document, names of nodes and dimensions, consolidated copies.
``arrays``, ``codecs``
    Arrays, chains of codecs, and the settings of each codec.
``extensions``
    Zarr core 3.1, ZEP 9 and ZEP 10: extensions, their names and handlers; declared conventions, v1 and draft 0.1.0.
``schemas``
    JSON schemas that users give for conventions.
``chunks``
    Keys and decoding of stored chunks.
"""
