"""Integrate .ozx files into the desktop: double-click, icon, thumbnail, viewer.

``association/``
    Register ``.ozx`` with the desktop of one user, show what opens it, and revert that.
``icons/``
    The file icon.
``viewer/``
    A viewer page and its server, windows of other programs, files for programs that read by URL.
"""
