"""Export of images to an OME-TIFF file.

``exported_hierarchy``, ``exported_image``
    The contents: images, a plate; an image with the five axes and the pixel types of OME-TIFF.
``ome_xml``
    Their OME-XML: composed, or the original, updated.
``tile_encoding``
    Stored blocks of pixels, cut into tiles and compressed.
``file``
    The file: its directories first, then its tiles, written by several threads.
"""
