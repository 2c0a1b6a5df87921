"""Zarr v3 metadata: arrays, chunk layouts, codecs and extensions.

``array``, ``codecs``
    The members of ``zarr.json``; codecs by name, and the checksum behind each chunk.
``layout``
    The layout of chunks in stored values, and the index of a shard.
``extensions``
    What a document declares beyond the core, and whether its chunks may be moved.
``normalisation``
    Legal documents in the form that zarr-python reads.
"""
