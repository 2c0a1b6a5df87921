"""OME-Zarr metadata: parsing, conversion and coordinate transformations.

``model``
    Version, axes, images, labels, plates, series and collections.
``transformations``, ``units``
    Scales and translations, coordinate systems; units of axes, and those of OME-XML.
``conversion``
    A group in another version: 0.5 to 0.6, and back.
``placing``
    Transformations as matrices; the places of images in other coordinate systems.
``downscaling``
    Where the levels that ozx computes end, and how metadata describe their method.
``versions``
    Versions of OME-Zarr, and its drafts.
``colors``
    Colours and contrast of channels; the colours of dyes; colours as users give them.
"""
