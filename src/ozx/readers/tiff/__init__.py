"""Reading of TIFF files: images, pixels and metadata.

``opening``
    Opening of a TIFF file, and of the files that belong to it, as images.
``series``
    The images of the file, as tifffile divides it.
``planes``
    The images whose planes lie in many files.
``source``, ``pages``, ``segments``
    The pixels of a series in blocks: its axes; its pages in the image; the strips and tiles, each decoded once.
``layouts``
    Comparison of the pages of a series: their shape, pixel type and storage.
``description``, ``kinds``
    Metadata from slide scanners, from the tags of any TIFF, and from ImageJ; from the programs of microscopes.
"""
