"""Decode chunks with bounded memory, and encode them.

``bounded``, ``bounded_filters``
    Decompression and filters with a limit on their output.
``bounded_arrays``
    Arrays whose chunks decode to at most their own size.
``chunk_codecs``
    The codecs of an array as functions that work in threads and decode into memory of the exact length; that
    memory, used again.
``joined_chunks``
    Decoding of many small chunks by one call of the decompressor.
``pixel_codec``
    The codecs of an array as functions, by zarr-python where only it has them.
``codec_support``
    The codecs that the installed zarr-python can decode.
``zarr_errors``
    zarr-python's errors in plain words.
"""
