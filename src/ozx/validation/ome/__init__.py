"""Verdicts on OME-Zarr metadata: 0.4 (in directories) and 0.5 fully, 0.6 structurally.

Of a node by itself, from its attributes alone:

``documents``
    Which version, which keys; each key has its own module: ``multiscales`` (with ``axes``, ``datasets``,
    ``transformations``; ``systems`` from 0.6 on), ``omero``, ``image_labels``, ``plates``, ``series``.
``second_opinion``
    What ome-zarr-models says of the same attributes, where it says something else.

Of all nodes together:

``hierarchy``
    Everything of this: ``levels`` (images and their arrays), ``label_images``, ``wells``, ``collections``; they look at
    the ``nodes``.

``place`` and ``expecting`` make the findings; ``image_table``, ``label_table`` and ``plate_table`` are the rules.
"""
