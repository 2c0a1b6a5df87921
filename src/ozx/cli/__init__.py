"""The command line: one module per command; only this package imports click and prints text."""
