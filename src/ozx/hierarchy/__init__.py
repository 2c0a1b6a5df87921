"""Zarr and OME-Zarr metadata: store keys and JSON documents, without file access and without ZIP.

``keys``
    Store keys, the nodes to which they belong, and their order in an archive.
``comment``
    The archive comment of RFC-9.
``json/``
    JSON documents: parsing, limits, strictness, values that may be missing, changes that keep the style.
``zarr/``, ``zarr_v2/``
    Zarr v3 and Zarr v2: arrays, groups, codecs, chunk layouts, extensions.
``ome/``
    The ``ome`` attributes: versions, transformations, units, rendering.
``chunk_grid``
    The keys of an array's chunks, for both versions.
``nodes``, ``images``, ``references``
    The nodes of a hierarchy and notes about them, its images, and the paths by which a node refers to another node.
``thumbnail``, ``recovered``
    The root's attributes that name the picture in a file, and those that say what a recovered file lacks.
``ro_crate``
    The metadata file by which archives of data learn the name, the authors and the license.
``upgrade``, ``downgrade``
    OME-Zarr 0.4 documents as 0.5, and 0.5 documents as 0.4.
``relayout/``, ``subset/``, ``edit/``
    New documents for other chunks, for a part of a hierarchy, and for edited metadata.
``partial_hierarchy``
    A hierarchy with missing nodes, and the roles of its keys.
"""
