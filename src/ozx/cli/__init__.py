"""The command line, one file per command: the only package that imports click, and the only one that prints."""
