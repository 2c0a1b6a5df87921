"""OZX files on a desktop: what a double-click does, which icon and thumbnail a file has.

``associate``
    Makes ``.ozx`` known to the desktop of one user, tells what opens it, and takes everything back.
``linux``, ``macos``, ``windows``
    Which steps that takes on each system, and what would open an ``.ozx`` file now. They change nothing, so that each
    can be tested on all.
``systems``, ``status``
    Which of them belongs to the system that runs here; the form of its answer.
``steps``, ``carrying_out``, ``taking_back``, ``actions``, ``record``
    The steps; doing them, all or none; undoing them; one change at a time; and the file that knows what was done.
``key_file``, ``registry``
    What other programs write, too: one item in a list, or one value, is changed.
``launching``
    The command that a double-click runs.
``open_with``
    The program behind it where no terminal shows what went wrong: Windows and macOS.
``media_type``, ``icons``
    What a file is called, and how it looks.
``viewer``
    What opens: a page and its server, other programs' windows, files for programs that read by URL.
"""
