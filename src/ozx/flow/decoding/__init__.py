"""Decoding with bounded memory.

``bounded``, ``bounded_filters``
    Decompression and filters with a limit on their output.
``bounded_arrays``
    Arrays whose chunks decode to at most their own size.
``codec_support``
    The codecs that the installed zarr-python can decode.
``zarr_errors``
    zarr-python's errors in plain words.
"""
