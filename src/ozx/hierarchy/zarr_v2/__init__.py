"""Zarr v2 metadata, and the conversion of Zarr v2 arrays and groups to Zarr v3.

``documents``
    Metadata of arrays and groups, from Zarr v2 documents; data types.
``arrays``
    Conversion of an array and its codecs to Zarr v3; its chunks stay unchanged if possible.
``groups``
    Conversion of an OME-Zarr 0.4 group to 0.5.
"""
