"""Images of a hierarchy as an OME-TIFF file.

``exported_hierarchy``, ``exported_image``
    What is written: images, a plate, their OME-XML; five axes, levels, a type that OME-TIFF knows.
``tiles``, ``tile_cutting``, ``tile_encoding``
    Blocks as they are stored to tiles, cut and compressed in threads.
``file``
    The file: its directories first, then its tiles.
"""
