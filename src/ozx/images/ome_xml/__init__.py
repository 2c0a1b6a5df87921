"""OME-XML.

``claims``
    How many planes it claims, refused beyond measure.
``parsing``
    What it says of images, channels and plates.
``composing``
    OME-XML of images that come from a hierarchy.
``updating``
    The OME-XML that an image came with, brought up to date.
``units``
    Lengths and times in its words and in those of OME-Zarr.
``xml_reading``, ``xml_writing``
    Elements from text that anybody may have written, and back.
"""
