"""Write plans to files, directories or objects.

``target``
    The place of an output, and where it is refused.
``output``
    A new file or object, complete or not at all.
``archive``, ``directory``, ``prefix``
    A plan into an archive and into a directory: the plain way, which works everywhere; entries as objects below a URL.
``fast_packing``, ``fast_assembling``, ``fast_unpacking``, ``two_processes``
    The same bytes several times faster on POSIX systems; work shared with a second process.
``file_size``
    The size of an archive before it is written.
``edited_object``
    An archive at ``s3://`` with other documents.
``verification``, ``checksum``, ``manifest``
    Proof that an archive equals its source; the files that prove it later, ``.sha256`` and ``.manifest.json``.
"""
