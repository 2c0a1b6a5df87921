"""Entries flow from a source to a sink: from a directory into an archive, from an archive into a directory.

``entry``
    What flows: a store key, and a value that nobody has read yet.
``listing``
    What a directory holds, in the order an archive is written in; what is left out and what is refused.
``location``
    Which file a path, URL or node URI means, and which node in it.
``browsing``
    Looking into an archive or a directory without judging it: as little as possible is read.
``directory_source``, ``archive_source``
    Entries out of a directory, and out of an archive.
``archive_sink``, ``directory_sink``
    Entries into an archive, and into a directory: the plain way, which works everywhere.
``verification``, ``checksum``
    Proof that an archive is its source, for now and for later.
``fast_packing``, ``fast_unpacking``
    The same bytes, several times faster, for the two everyday cases; ``two_processes`` helps.
"""
