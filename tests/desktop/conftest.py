"""Fixtures of the desktop tests: a home directory and programs that the tests may change."""

from desktops import home, program, programs, registry

__all__ = ["home", "program", "programs", "registry"]
