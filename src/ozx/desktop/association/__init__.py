"""Register ozx as the program that opens .ozx files on double-click.

``associate``, ``status``
    The verb, and the program that opens an ``.ozx`` file now.
``systems``, ``linux``, ``macos``, ``windows``
    The plan for each desktop.
``linux_menus``, ``thunar_actions``
    *Convert to .ozx* in the menus of Linux file managers.
``steps``, ``transaction``, ``apply``, ``revert``, ``record``
    A plan as data; carrying out all of its steps or none; the record from which they are reverted.
``key_file``, ``registry``, ``launching``, ``open_with``
    Desktop entries, the Windows registry, the command that a double-click runs.
"""
