"""OZX files on a desktop: what a double-click does, which icon and thumbnail a file has.

``associate``
    Makes ``.ozx`` known to the desktop of one user, tells what opens it, and takes everything back.
``linux``, ``macos``, ``windows``
    Which steps that takes on each system. They do nothing by themselves, so that each can be tested on all.
``linux_lookup``, ``macos_lookup``, ``windows_lookup``
    What would open an ``.ozx`` file now.
``steps``, ``carrying_out``, ``taking_back``, ``record``
    The steps; doing them, all or none; undoing them; and the file that knows what was done.
``key_file``, ``registry``
    The formats of other programs in which one line, or one value, is changed.
``launching``
    The command that a double-click runs.
``open_with``
    The program behind it where no terminal shows what went wrong: Windows and macOS.
``icons``
    How a file looks.
"""
