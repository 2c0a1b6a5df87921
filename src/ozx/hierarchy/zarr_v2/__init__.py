"""Zarr v2 metadata, and the conversion of Zarr v2 arrays and groups to Zarr v3.

``documents``
    Metadata of arrays and groups, from Zarr v2 documents; data types.
``arrays``, ``codecs``
    Conversion of an array to Zarr v3; its chunks stay unchanged if possible.
``zlib_to_gzip``
    A zlib stream in a gzip frame, with the same compressed bytes.
``groups``
    Conversion of an OME-Zarr 0.4 group to 0.5.
"""
