"""Images of a hierarchy as an OME-TIFF file.

``exported_hierarchy``
    What is written: images, a plate, their OME-XML.
``tiles``, ``tile_cutting``, ``tile_encoding``
    Blocks as they are stored to tiles, cut and compressed in threads.
``file``
    The file: its directories first, then its tiles.
"""
