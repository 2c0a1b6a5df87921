"""Pixel data: rendered pictures of images, new hierarchies from arrays and files, and export to OME-TIFF.

``image``, ``plate_fields``
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
``exported_image``
    An image of a hierarchy with the five axes and the pixel types of OME-TIFF.
``ome_xml/``
    OME-XML: reading, updating, composing.
``writing/``
    Writing of new images with their pyramids into an archive, in one pass.
``streaming/``
    Writing of images from frames that a camera sends one by one.
``ome_tiff/``
    Images of a hierarchy as an OME-TIFF file.
This package uses ``store``, because a picture shows an image in a store. Several operations make pictures.
"""
