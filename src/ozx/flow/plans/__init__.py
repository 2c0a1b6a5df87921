"""Make plans from a source; a plan lists the entries to write.

``copy``
    The files of a directory as they are.
``relayout``, ``arrays``
    A hierarchy in another layout or version, and the entries of its arrays.
``ome_version``
    A plan in another OME-Zarr version.
``zarr_v2``
    A plan of OME-Zarr 0.4 (Zarr v2), and its single values by key.
``subset``
    A part of a hierarchy.
``edit``
    The new documents of an archive that is edited.
``salvage``
    The recovered content of a damaged archive.
"""
