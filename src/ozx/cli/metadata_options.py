"""Options of ``edit`` and ``import`` that replace the metadata of an image."""

from __future__ import annotations

from typing import Any

from ozx.hierarchy.subset.channels import split_names


def parse_metadata(options: dict[str, Any]) -> dict[str, Any]:
    """Return a command's options with the lists of channel names and colours split."""
    lists = [name for name in ("channel_names", "colors") if options[name] is not None]
    return options | {name: split_names(options[name]) for name in lists}
