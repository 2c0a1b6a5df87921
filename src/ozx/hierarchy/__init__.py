"""Zarr and OME-Zarr documents: what keys and metadata mean. Does no I/O and knows no ZIP.

``keys``
    Store keys: metadata keys, nodes, and the two orders an archive is written in.
``documents``
    JSON bytes to a metadata document, strictly.
``comment``
    The archive comment of RFC-9.
``json_values``
    Reading what may be missing or of another type, without failing.
``array``, ``group``, ``codecs``
    What a Zarr v3 ``zarr.json`` says.
``extensions``
    What a Zarr v3 ``zarr.json`` asks its reader to understand beyond the core.
``normalisation``
    Legal Zarr v3 documents in the form that zarr-python reads.
``zarr_v2``
    The same facts from Zarr v2 documents.
``ome``, ``transformations``
    What the ``ome`` attributes say: version, images, labels, plates, series; scales and translations.
``nodes``, ``images``
    The nodes of a hierarchy as a whole, and the images found among them.
"""
