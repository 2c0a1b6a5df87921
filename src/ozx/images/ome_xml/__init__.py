"""Reading and writing OME-XML, the metadata of OME-TIFF files.

``claims``
    A limit on the number of planes it claims.
``parsing``
    Its images, channels and plates.
``composing``
    OME-XML of images that come from a hierarchy.
``updating``
    The original OME-XML of an image, updated.
``units``
    Lengths and times in its units and in those of OME-Zarr.
``xml_reading``, ``xml_writing``
    Elements from untrusted text, and back.
"""
