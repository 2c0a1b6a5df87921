"""Write plans to files, directories or objects.

``target``
    The place of an output, and the places that are refused.
``output``
    A new file or object, complete or not at all.
``archive``, ``directory``, ``prefix``
    Writers of a plan into an archive or a directory, which work on every system; entries as objects below a URL.
``fast_packing``, ``fast_assembling``, ``fast_unpacking``, ``two_processes``
    Writers that write the same bytes several times faster on POSIX systems; work shared with a second process.
``file_size``
    The size of an archive before it is written.
``edited_object``
    Replacement of documents of an archive at ``s3://``.
``bag``
    Tag files that make a folder a BagIt bag.
``verification``, ``manifest``
    Proof that an archive equals its source, and the files that later prove this: ``.sha256`` and ``.manifest.json``.
"""
