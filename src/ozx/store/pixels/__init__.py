"""Pixels of arrays in an archive: many chunks by few reads, decoded in threads, into the caller's array.

``pipeline``, ``configured``
    The codec pipeline that zarr-python calls, and the class for its configuration.
``request``
    The plan of one request, and how it is carried out.
``blocks``
    Spans of the file, joined into blocks, which threads read and decode.
``chunk_codecs``, ``shard_indexes``, ``selections``
    Codecs as decoders, the kept indexes of shards, and the inner chunks that a selection touches.
"""
