"""URIs as ozx writes them, on every system."""

from pathlib import Path


def ozx_uri(path):
    """Return the ``ozx:`` URI of an absolute path."""
    return "ozx" + Path(path).as_uri().removeprefix("file")
