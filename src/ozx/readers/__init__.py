"""Readers of other file formats: each turns a file into images, which `ozx import` writes.

``images``
    What a reader gives: images with their pixels, levels and metadata, and the files they come from.
``registry``
    The reader of a file: one of another package (entry points ``ozx.readers``), that of TIFF, or that of microscopes.
``tiff/``
    TIFF files; the only modules that use tifffile for reading.
``folders``, ``plane_names``, ``micro_manager``
    Folders of many files: what joins them; the places of planes by the names of their files; ``metadata.txt``.
``microscopes``
    CZI, ND2, LIF, IMS and what else openreadout reads.
``masks``
    Masks of segmentation programs, as arrays or files, for `ozx labels`.
``hierarchy``, ``notes``, ``imported``
    The hierarchy of the images (one image, a series or a plate), or of a part of each; notes about what they lack;
    images imported before.
"""
