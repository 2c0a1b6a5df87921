"""Read hierarchies from directories, archives and servers.

``source``
    The interface: keys in hierarchy order, sizes, entries.
``directory``, ``archive``
    Sources over a directory and over an archive.
``listing``, ``archive_keys``, ``key_sorting``
    The keys of a directory and of an archive in the order in which ozx writes them, and a fast sort of many keys.
``attributes``
    File attributes that an archive does not keep.
``location``
    The file and the node that a path, URL or node URI names.
``hierarchy_root``
    The folder of the root.
``wrong_sources``
    The errors for sources of the wrong kind, with hints that name the right command.
``browsing``, ``remote_browsing``, ``opening``
    Views of an archive and of a directory that read as little as possible; the view of a path or URL.
``local_copy``
    A temporary copy of a remote file.
``remote_directory``, ``remote_objects``, ``found_keys``, ``key_listing``
    A directory behind a URL as a source; its objects, listed or found by metadata; their keys in order.
"""
