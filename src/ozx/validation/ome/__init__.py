"""Verdicts on OME-Zarr metadata: 0.4 (in directories) and 0.5 fully, 0.6 structurally.

Of a node by itself, from its attributes alone:

``documents``
    Which version, which keys.
``multiscales``, ``axes``, ``datasets``, ``transformations``, ``systems``
    Images, and their parts; coordinate systems from 0.6 on.
``omero``, ``image_labels``, ``plates``, ``series``
    The other keys, a module each.
``second_opinion``
    What ome-zarr-models says of the same attributes, where it says something else.

Of all nodes together:

``hierarchy``
    Everything of this.
``levels``, ``label_images``, ``wells``, ``collections``
    Images and their arrays, and what images, plates and collections have to do with each other.
``nodes``
    What these look at.

For both:

``place``, ``expecting``
    What makes the findings.
``image_table``, ``label_table``, ``plate_table``
    The rules: rows of the one table.
"""
