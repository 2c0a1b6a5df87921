"""Register ozx as the program that opens .ozx files on double-click.

``associate``, ``status``
    The verb, for each system; the program that opens an ``.ozx`` file now.
``linux``, ``macos``, ``windows``
    What registers the file type on each desktop.
``changes``
    The changes, made or only listed; what is ours, and its removal.
``registry``, ``open_with``
    The Windows registry; the program that a double-click runs, and its command line.
"""
