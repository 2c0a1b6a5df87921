"""The command line: one module per command; no other package imports click or prints."""
