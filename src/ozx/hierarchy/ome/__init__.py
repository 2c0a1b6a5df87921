"""OME-Zarr metadata: parsing, conversion and coordinate transformations.

``metadata``
    Version, images, labels, plates and series.
``transformations``, ``units``
    Scales and translations; units of axes.
``axis_names``
    The usual axes with their types, and the error for an axis that no image has.
``systems``
    Images with coordinate systems (0.6) in the form of 0.5, and back.
``conversion``
    A group in another version: 0.5 to 0.6, and back.
``affine``, ``placing``
    Transformations as matrices; the places of images in other coordinate systems.
``transformation_words``
    Transformations in messages.
``plate_names``
    Usual names of the rows of a plate.
``collection``
    Collections of images (RFC-8, a draft).
``versions``
    Versions of OME-Zarr, and its drafts.
``rendering``, ``dyes``, ``colors``
    Colours and contrast of channels; the colours of dyes; colours as users give them.
``label_colors``
    Colours and properties of label values.
"""
