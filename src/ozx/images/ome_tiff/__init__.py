"""Export of images to an OME-TIFF file.

``exported_hierarchy``
    The contents: images, a plate, their OME-XML.
``tile_encoding``
    Stored blocks of pixels, cut into tiles and compressed.
``file``
    The file: its directories first, then its tiles, written by several threads.
"""
