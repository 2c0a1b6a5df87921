"""URIs as ozx writes them, on every system."""

from pathlib import Path


def ozx_uri(path):
    return "ozx" + Path(path).as_uri().removeprefix("file")
