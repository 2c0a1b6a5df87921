"""Integrate .ozx files into the desktop: double-click, icon, thumbnail, viewer, conversion by right-click.

``association/``
    Register ``.ozx`` with the desktop of one user, show what opens it, and revert that.
``conversion/``
    The program behind *Convert to .ozx* in file managers, with its windows.
``dialogs``
    Messages and questions in windows.
``icons/``
    The file icon.
``viewer/``
    A viewer page and its server, windows of other programs, files for programs that read by URL.
"""
