"""Rendering of pictures: the choice of the pixels to show, and their colours.

``render``
    Planes of pixels, or of label values, to red, green and blue; the channels to show, their colours and contrast.
``raster``
    Resizing, PNG and JPEG; the only importer of Pillow.
``planes``
    The level and the planes of an image that suffice for a picture.
``thumbnail``
    A picture of any hierarchy; a plate as one picture.
The first module uses only NumPy, on arrays.
"""
