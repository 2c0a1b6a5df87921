"""OME-Zarr attributes.

``metadata``
    Version, images, labels, plates and series.
``transformations``, ``units``
    Scales and translations; units of axes.
``versions``
    Versions of OME-Zarr, and its drafts.
``rendering``
    Colours and contrast of channels and labels.
"""
