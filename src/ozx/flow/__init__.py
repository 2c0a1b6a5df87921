"""Entries flow from a source to a sink: from a directory into an archive, from an archive into a directory.

``entry``
    What flows: a store key, and a value that nobody has read yet.
``listing``
    What a directory holds, in the order an archive is written in; what is left out and what is refused.
``location``
    Which file a path, URL or node URI means, and which node in it.
``browsing``
    Looking into an archive or a directory without judging it: as little as possible is read.
``source``
    A hierarchy to read, whatever it is in.
``directory_source``, ``archive_source``
    Entries out of a directory, and out of an archive; both as sources.
``mending``
    Any directory or archive as a source without the faults of other programs; what was mended is told.
``mended_names``, ``mended_container``, ``mended_documents``, ``mended_source``
    Its parts: names, the archive itself, metadata, and the source in the end.
``hierarchy_root``, ``hierarchy_version``
    Where the root is, and what it is written in.
``archive_keys``
    The keys of an archive in the order ozx writes, whatever the archive's.
``stored_chunks``, ``inner_chunks``
    What is stored of an array, and where its encoded chunks are in that.
``reshard``, ``checksummed_chunks``
    The entries of an array whose chunks are laid out otherwise, and a checksum added behind each chunk or taken off.
``recode``, ``block_recoding``, ``spool``
    The entries of an array whose chunks are cut or compressed otherwise: the one place where pixels are decoded.
``bounded_decoding``, ``bounded_filters``, ``bounded_arrays``
    Decompression that never gives out more than a limit; arrays whose chunks decode to their size and not beyond it.
``chunk_decoding``
    Decoding chunks only to see whether they can be.
``subtree``
    What is below a node of a source, as another source.
``cut_chunks``, ``extraction``
    The entries of an array of which a box is left, and those of a part of a hierarchy.
``file_size``
    How large an archive will be.
``archive_sink``, ``directory_sink``
    Entries into an archive, and into a directory: the plain way, which works everywhere.
``moving``
    Stored entries from one archive into another, undecoded.
``zarr_knowledge``, ``zarr_errors``, ``byte_ranges``
    What the installed zarr-python can decode, what its errors mean, and what it asks stores for.
``conversion``, ``converting``, ``reframed``
    A hierarchy in another layout or version, and what it is made of.
``content``, ``plain_content``, ``converted_content``, ``conversion_sink``
    What goes into an archive: a directory as it is, or a hierarchy laid out anew.
``target``
    Where an archive may be written, and what is to be said of its name.
``batch``
    Many sources, each into a file of its own.
``verification``, ``checksum``
    Proof that an archive is its source, for now and for later.
``source_removal``
    Removal of a source once its archive is complete: only what is still as it was packed.
``salvage``, ``salvaged``, ``shard_salvage``, ``chunk_proof``, ``losses``
    Which values of a damaged archive belong to its hierarchy, and what is missing of its arrays.
``fast_packing``, ``fast_unpacking``, ``fast_assembling``, ``two_processes``
    The same bytes as those sinks make, several times faster on POSIX systems; the work shared with a second process.
"""
