"""Rules about OME-Zarr metadata: 0.4 (in directories), 0.5 and 0.6.

Rules about a single node, from its attributes:

``documents``
    The version and the keys of the metadata: images, display settings, scenes, series.
``coordinates/``
    Coordinate systems and transformations between them, from 0.6 on.
``labels``, ``plates``
    Label images and plates, each alone and with the nodes that they name.
``second_opinion``
    Additional findings of ome-zarr-models.

Rules about several nodes:

``hierarchy``
    The list of these checks; collections of images.
``levels``
    Axes of images, the arrays of their levels, and up to 0.5 the transformations of levels.
``nodes``
    The groups with OME-Zarr metadata.
"""
