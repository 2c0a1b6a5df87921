"""The command line: the only package that imports click, and the only one that prints. One file per command."""
