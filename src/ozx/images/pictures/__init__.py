"""Rendering of pictures: the choice of the pixels to show, and their colours.

``render``
    Planes of pixels, or of label values, to red, green and blue; the channels to show, their colours and contrast.
``raster``
    Resizing, PNG and JPEG; the only importer of Pillow.
``planes``
    The level and the planes of an image that suffice for a picture.
``drawing``
    A picture of an image, of a label image, and of a plate.
The first module uses only NumPy, on arrays.
"""
