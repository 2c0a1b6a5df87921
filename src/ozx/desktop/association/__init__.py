"""Register ozx as the program that opens .ozx files on double-click.

``associate``, ``status``
    The verb, for each system; the program that opens an ``.ozx`` file now.
``linux``, ``macos``, ``windows``
    The plan for each desktop.
``steps``
    A plan, and the list of what is ours, as data; carrying them out.
``registry``, ``open_with``
    The Windows registry; the program that a double-click runs, and its command line.
"""
