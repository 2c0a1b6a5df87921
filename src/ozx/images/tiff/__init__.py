"""Reading of TIFF files: images, pixels and metadata.

``opening``
    Opening of a TIFF file, and of the files that belong to it, as images.
``other_files``
    The other files of an image.
``companion``
    OME-XML in a file of its own, with the TIFF files that it names, and OME-XML that is incomplete.
``source``, ``pages``, ``segments``, ``axes``, ``segment_cache``
    The pixels of a series in blocks: its pages in the image, the strips and tiles in a page, each decoded once.
``layouts``
    Comparison of the pages of a series: their shape, pixel type and storage.
``cut_off``
    The pages of files whose end is missing.
``description``, ``imagej``
    Metadata from slide scanners, from the tags of any TIFF, and from ImageJ.
``hierarchy``, ``notes``, ``imported``
    The hierarchy of the images (one image, a series or a plate); notes about them; images that were imported before.
"""
