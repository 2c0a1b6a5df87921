"""Zarr v3 metadata: arrays, chunk layouts, codecs and extensions.

``array``, ``codecs``
    The members of ``zarr.json`` and the keys of chunks; codecs by name, and the checksum behind each chunk.
``layout``
    The layout of chunks in stored values, the index of a shard, chunks of different lengths.
``extensions``
    What a document declares beyond the core, and whether its chunks may be moved.
``normalisation``
    Legal documents in the form that zarr-python reads.
"""
