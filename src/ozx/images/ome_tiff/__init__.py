"""Export of images to an OME-TIFF file.

``exported_hierarchy``
    The contents: images, a plate, their OME-XML.
``tiles``, ``tile_cutting``, ``tile_encoding``
    Stored blocks of pixels, cut into tiles and compressed in threads.
``file``
    The file: its directories first, then its tiles.
"""
