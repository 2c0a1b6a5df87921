"""Zarr metadata, v3 and v2: store keys and JSON documents, without file access, without ZIP and without OME-Zarr.

``keys``, ``entry_order``, ``chunk_grid``
    Store keys and the nodes to which they belong; their order in an archive; the keys of an array's chunks.
``json_reading``, ``json_changes``
    JSON documents: parsing within limits, values that may be missing, writing; changes that keep the style.
``array``, ``codecs``
    The members of ``zarr.json`` and the keys of chunks; codecs by name, and the checksum behind each chunk.
``layout``
    The layout of chunks in stored values, the index of a shard, chunks of different lengths.
``extensions``
    What a document declares beyond the core, and whether its chunks may be moved.
``normalisation``
    Legal documents in the form that zarr-python reads.
``v2_documents``, ``v2_arrays``
    Zarr v2 documents and data types; an array and its codecs as Zarr v3, its chunks unchanged if possible.
"""
