"""Zarr and OME-Zarr documents: what keys and metadata mean. Does no I/O and knows no ZIP.

``keys``
    Store keys: metadata keys, nodes, and the two orders an archive is written in.
``entry_order``
    A million keys: whether they are in these orders, and the way into them.
``documents``, ``document_limits``
    JSON bytes to a metadata document, and back; how large it may be.
``strict_json``
    The same, noticing what other programs refuse or read differently.
``comment``
    The archive comment of RFC-9.
``json_values``
    Reading what may be missing or of another type, without failing.
``array``, ``group``, ``codecs``
    What a Zarr v3 ``zarr.json`` says.
``layout``, ``chunk_keys``, ``shards``, ``chunk_checksums``
    How chunks are laid out in stored values: which key is which chunk, where it is in a shard, and the same array laid
    out otherwise; the checksum behind each chunk.
``shard_choice``, ``axis_lengths``, ``layout_choice``, ``layout_wish``
    How large shards become, by themselves or as somebody says; the same for all arrays of a hierarchy.
``recoding``, ``recutting``
    The same array with its chunks cut or compressed otherwise: its document, and which pixels go together.
``selection``, ``region``, ``level_choice``
    Which pixels and which levels of images are asked for.
``alignment``, ``level_cuts``, ``label_levels``
    Which whole chunks of each level show a region, and which levels a label image keeps.
``array_cut``, ``image_cut``, ``excerpt``
    The documents of arrays and images of which a part is left, and those of a hierarchy.
``references``
    What nodes say about other nodes, and whether those are still there.
``understanding``, ``relaid_extensions``
    Whether chunks may be moved at all, and what that makes of extensions.
``fill_values``
    Which JSON values a fill value may be.
``extension_names``
    What extensions are called, and which names are registered.
``extensions``
    What a Zarr v3 ``zarr.json`` asks its reader to understand beyond the core.
``normalisation``
    Legal Zarr v3 documents in the form that zarr-python reads.
``zarr_v2``
    The same facts from Zarr v2 documents.
``v2_arrays``, ``v2_data_types``, ``v2_codecs``, ``v2_layouts``, ``reframing``
    An array of Zarr v2 as one of v3 whose chunks stay as they are, or nearly: zlib's frame becomes gzip's.
``v2_groups``, ``upgrade``
    A group of OME-Zarr 0.4 as one of 0.5, and the documents of a whole hierarchy.
``ome``, ``transformations``
    What the ``ome`` attributes say: version, images, labels, plates, series; scales and translations.
``rendering``, ``units``
    How images are to be shown; what axes are measured in.
``edits``, ``edition``, ``editing``, ``channel_editing``
    What is asked of an edit, which images it is about, and what it makes of their documents.
``json_changes``, ``differences``
    What an edit changed, in JSON and in words, written in the style of the document before.
``conventions``
    Which conventions the attributes of a node declare.
``notes``
    What is good to know about many nodes, told once.
``chunk_grid``, ``skeleton``
    Which keys are chunks of an array, and which fit a hierarchy of which parts are missing.
``nodes``, ``images``
    The nodes of a hierarchy as a whole, and the images found among them.
``ancestry``, ``consolidation``
    Which nodes stand above which; copies of their metadata, and whether they are up to date.
"""
