"""Rules about OME-Zarr metadata: 0.4 (in directories), 0.5 and 0.6.

Of a node by itself, from its attributes alone:

``documents``
    Its version and its keys.
``multiscales``, ``axes``, ``transformations``
    Images, and their parts up to 0.5.
``coordinates/``
    Coordinate systems and transformations between them, from 0.6 on.
``omero``, ``image_labels``, ``plates``, ``series``
    The other keys, a module each.
``second_opinion``
    Findings of ome-zarr-models that these rules do not have.
``plain_metadata``
    The usual form of metadata, about which ome-zarr-models is not asked.

Of all nodes together:

``hierarchy``
    All checks of several nodes.
``levels``, ``label_images``, ``wells``, ``collections``
    Images and their arrays; labels and their images; plates; collections.
``nodes``
    The groups with OME-Zarr metadata.
"""
