"""``python -m ozx``: the command line, for machines where the `ozx` script is not on the path."""

from ozx.cli.app import main

main()
