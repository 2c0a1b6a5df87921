"""Reading and writing OME-XML, the metadata of OME-TIFF files.

``parsing``
    Parser of images, channels and plates.
``composing``
    OME-XML of images that come from a hierarchy.
"""
