"""Decoding with bounded memory.

``bounded``, ``bounded_filters``
    Decompression and filters that never return more than a limit.
``bounded_arrays``
    Arrays whose chunks decode to their own size and not beyond it.
``codec_support``
    The codecs that the installed zarr-python can decode.
``zarr_errors``
    zarr-python's errors in plain words.
"""
