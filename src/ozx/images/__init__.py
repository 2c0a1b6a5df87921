"""Pixels: to pictures, from TIFF files and arrays into new hierarchies, and back.

``pictures/``
    Which pixels make a picture of an image, and in which colours.
``pixel_source``, ``description``
    Where the pixels of an image to be written come from, and what its file says of it, whatever its format.
``exported_image``
    An image of a hierarchy with the five axes and the pixel types of OME-TIFF.
``tiff/``
    TIFF files as images; the only modules that know tifffile.
``ome_xml/``
    OME-XML, read, brought up to date, and composed.
``writing/``
    New images with their pyramids into an archive, in one pass.
``ome_tiff/``
    Images of a hierarchy as an OME-TIFF file.

The room stands above ``store``: a picture is one of an image in a store, and more than one verb makes pictures.
"""
