"""Readers of other file formats: each turns a file into images, which `ozx import` writes.

``tiff/``
    TIFF files; the only modules that use tifffile for reading.
``hierarchy``, ``imported``
    The hierarchy of the images (one image, a series or a plate); images that were imported before.
"""
