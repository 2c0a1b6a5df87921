"""Zarr: advice about the names of nodes and dimensions."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator

from ozx.validation.findings import Finding
from ozx.validation.node_document import NodeDocument
from ozx.validation.readers import TENSORSTORE
from ozx.validation.wording import listed, shown

__all__ = ["check_dimension_names", "check_node_name"]

_PORTABLE = re.compile(r"[A-Za-z0-9._-]*")


def check_node_name(node: NodeDocument) -> Iterator[Finding]:
    """Yield advice about the name of a node."""
    name = node.path.rpartition("/")[2]
    if _PORTABLE.fullmatch(name):
        return
    # Zarr core 3.1, "Node names": "When using non-ASCII Unicode characters, we recommend users to use case-folded
    # NFKC-normalized strings".
    normal = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    if not name.isascii() and name != normal:
        message = f"the name {shown(name)} is not in its normal form, which is {shown(normal)}"
        yield node.finding("zarr/normal-name", message)
        return
    # "To ensure consistent behaviour across different storage systems and programming languages, we recommend users to
    # only use characters in the sets a-z, A-Z, 0-9, -, _, .."
    odd = listed(sorted(set(_PORTABLE.sub("", name))))
    yield node.finding("zarr/portable-name", f"the name {shown(name)} has characters that are not portable: {odd}")


def check_dimension_names(node: NodeDocument) -> Iterator[Finding]:
    """Yield advice about the names of an array's dimensions."""
    # Zarr core 3.1, "Dimension names": "it is recommended but not required that all non-null dimension names are
    # distinct (no two dimensions have the same non-empty name)."
    names = [] if node.array is None else [name for name in node.array.dimension_names or () if name]
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        message = f"dimension_names has {listed(repeated)} more than once, which {TENSORSTORE} refuses"
        yield node.finding("zarr/repeated-dimension-name", message, "/dimension_names")
