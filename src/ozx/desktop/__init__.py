"""OZX files on a desktop: double-click, icon, thumbnail, viewer.

``association/``
    Make ``.ozx`` known to the desktop of one user, show what opens it, and revert both.
``icons/``
    The icon of a file.
``viewer/``
    A page and its server, windows of other programs, files for programs that read by URL.
"""
