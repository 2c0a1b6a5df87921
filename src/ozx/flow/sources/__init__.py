"""Read hierarchies from directories, archives and servers.

``source``
    The interface: keys in hierarchy order, sizes, entries.
``directory``, ``archive``
    Sources over a directory and over an archive.
``listing``, ``archive_keys``
    The keys of a directory and of an archive in the order in which ozx writes them, and a fast sort of many keys.
``wrong_sources``
    The errors for sources of the wrong kind, with hints that name the right command.
``browsing``
    Views of archives and directories, also behind a URL, that read as little as possible.
``remote_directory``, ``remote_objects``
    A directory behind a URL as a source; its objects, listed or found by metadata; their keys in order.
"""
