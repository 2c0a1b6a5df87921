"""Zarr v3 metadata: arrays, groups, chunk layouts, codecs and extensions.

``array``, ``group``, ``codecs``, ``fill_values``
    The members of ``zarr.json``.
``chunk_keys``, ``chunk_layout``, ``shards``, ``chunk_checksums``
    The keys of chunks, their layout in stored values, the index of a shard, the checksum behind each chunk.
``conventions``, ``extensions``, ``extension_names``, ``must_understand``
    What a document declares beyond the core, and whether its chunks may be moved.
``consolidation``
    Copies of metadata in a group, and whether they are up to date.
``normalisation``
    Legal documents in the form that zarr-python reads.
"""
