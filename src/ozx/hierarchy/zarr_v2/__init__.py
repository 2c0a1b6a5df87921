"""Zarr v2, and its arrays and groups as Zarr v3.

``documents``
    The facts of Zarr v2 documents.
``arrays``, ``data_types``, ``codecs``, ``layouts``
    An array as one of Zarr v3 whose chunks stay unchanged.
``zlib_to_gzip``
    A zlib stream in a gzip frame, with the same compressed bytes.
``groups``
    A group of OME-Zarr 0.4 as one of 0.5.
"""
