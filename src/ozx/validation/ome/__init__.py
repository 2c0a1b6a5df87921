"""Rules about OME-Zarr metadata: 0.4 (in directories), 0.5 and 0.6.

Rules about a single node, from its attributes:

``documents``
    The version and the keys of the metadata.
``multiscales``, ``axes``, ``transformations``
    Images, and their parts up to 0.5.
``coordinates/``
    Coordinate systems and transformations between them, from 0.6 on.
``omero``, ``image_labels``, ``plates``, ``series``
    The other keys, one module for each.
``second_opinion``
    Additional findings of ome-zarr-models.
``plain_metadata``
    Detection of simple metadata, which ome-zarr-models does not check.

Rules about several nodes:

``hierarchy``
    The list of these checks.
``levels``, ``label_images``, ``wells``, ``collections``
    Images and their arrays; label images and their images; plates and wells; collections of images.
``nodes``
    The groups with OME-Zarr metadata.
"""
