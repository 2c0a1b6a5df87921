"""Register ozx as the program that opens .ozx files on double-click.

``associate``, ``status``
    The verb, for each system; the program that opens an ``.ozx`` file now.
``linux``, ``macos``, ``windows``
    The plan for each desktop.
``steps``
    A plan, and the list of what is ours, as data; carrying them out.
``key_file``, ``registry``, ``launching``, ``open_with``
    Desktop entries, the Windows registry, the command that a double-click runs.
"""
