"""Zarr and OME-Zarr documents: what keys and metadata mean. Does no I/O and knows no ZIP.

``keys``, ``entry_order``
    Store keys: metadata keys, nodes above each other, and the two orders of an archive, for one key and for a million.
``comment``
    The archive comment of RFC-9.
``json/``
    JSON documents: parsing, limits, strictness, values that may be missing, changes that keep the style.
``zarr/``, ``zarr_v2/``
    Zarr v3 and Zarr v2: arrays, groups, codecs, layouts of chunks, extensions.
``ome/``
    The ``ome`` attributes: versions, transformations, units, rendering.
``chunk_grid``
    The keys of an array's chunks, of either version.
``nodes``, ``images``, ``references``
    The nodes of a hierarchy, the images among them, and the paths by which nodes name others.
``upgrade``
    The documents of OME-Zarr 0.4 as 0.5.
``relayout/``, ``subset/``, ``edit/``
    The documents of the same hierarchy in other chunks, of a part of it, and with other metadata.
``partial_hierarchy``
    A hierarchy with missing nodes: which keys fit it.
``note_collector``
    Notes about many nodes, one sentence for each kind.
"""
