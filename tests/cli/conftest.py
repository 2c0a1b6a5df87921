"""The home directory and the programs that tests of the desktop change."""

from desktops import home, program, programs, registry

__all__ = ["home", "program", "programs", "registry"]
