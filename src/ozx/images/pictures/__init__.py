"""Which pixels make a picture of an image, and in which colours.

``channels``
    Which channels are shown, in which colours, and between which values.
``render``
    Planes of pixels, or of label values, to red, green and blue.
``raster``
    Pictures to another size, and to PNG and JPEG; the only importer of Pillow.
``planes``
    The level and the planes of an image in a zarr group that are enough for a picture.
``montage``
    A plate as one picture.
``thumbnail``
    A picture of a hierarchy, whatever it holds.
``thumbnail_cache``
    Where desktops look for pictures of files.

The first two are plain NumPy on arrays.
"""
