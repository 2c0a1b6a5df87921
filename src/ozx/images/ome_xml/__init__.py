"""Reading and writing OME-XML, the metadata of OME-TIFF files.

``claims``
    Limits on the numbers of planes and samples in a document.
``parsing``
    Parser of images, channels and plates.
``composing``
    OME-XML of images that come from a hierarchy.
``updating``
    Update of an image's original OME-XML.
``units``
    Conversion of lengths and times between units of OME-XML and OME-Zarr.
``xml_reading``, ``xml_writing``
    Parsing of untrusted text into elements, and writing of elements as text.
"""
