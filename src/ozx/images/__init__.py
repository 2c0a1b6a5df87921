"""Pixel data: rendered pictures of images, and new hierarchies from arrays.

``image``, ``plate_picture``
    An image of a hierarchy, for viewers and analysis; the wells of a plate side by side as one image.
``pictures/``
    Rendering of images: the pixels to read, and their colours.
``opening``, ``selection``, ``data_array``
    Images opened by path and node; the part of an image that a reader asks for; a level as an array of xarray.
``crops``
    Random crops out of many images, for training.
``thumbnail``
    The picture of a hierarchy of any kind.
``pixel_source``, ``description``
    The pixels and the metadata of an image to write, for all file formats.
``ome_xml``
    What an OME-XML document says, within limits.
``writing/``
    Writing of new images with their pyramids into an archive, in one pass.
This package uses ``store``, because a picture shows an image in a store. Several operations make pictures.
"""
