"""What is read.

``location``
    The file and node that a path, URL or node URI means.
``listing``
    The keys of a directory in archive order; what is left out and what is refused.
``archive_keys``
    The keys of an archive in the order ozx writes.
``source``
    The interface: keys in hierarchy order, sizes, entries.
``directory``, ``archive``, ``subtree``
    Sources over a directory, over an archive, and over a node of another source.
``hierarchy_root``, ``hierarchy_version``
    The folder with the root, and its Zarr and OME-Zarr version.
``browsing``
    A look into an archive or a directory that reads as little as possible.
"""
