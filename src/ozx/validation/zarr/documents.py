"""Rules about JSON, common fields, names, and consolidated copies (Zarr core 3.1 and Zarr v2)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any

from ozx.ome.recovered import OZX, RECOVERED, describe_losses
from ozx.validation.nodes.facts import ParsedNode
from ozx.validation.nodes.place import JsonPlace, repeated
from ozx.validation.report import Finding, Severity
from ozx.validation.rules.findings import make_finding
from ozx.validation.wording import TENSORSTORE, ZARR_PYTHON, listed, shown
from ozx.zarr.extensions import unknown_fields
from ozx.zarr.json_reading import as_object
from ozx.zarr.keys import METADATA, ROOT_METADATA
from ozx.zarr.normalisation import CONSOLIDATED

# Zarr core 3.1, "Array metadata", "Group metadata": mandatory names.
_MANDATORY = {"array": ("shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value", "codecs"), "group": ()}
# Zarr v2 specification, "Metadata": keys that MUST be present.
_LEGACY_MANDATORY = ("shape", "chunks", "dtype", "compressor", "fill_value", "order", "filters")
# Zarr core 3.1, "Node names": the characters that are recommended.
_PORTABLE = re.compile(r"[A-Za-z0-9._-]*")


def check_json(node: ParsedNode) -> Iterator[Finding]:
    """Yield findings about JSON in a node's documents that programs may interpret differently."""
    for key, faults in node.faults.items():
        # RFC 8259, 4: "The names within an object SHOULD be unique." The reader decides which value counts.
        if "names" in faults:
            message = f"an object repeats names: {listed(faults['names'])}"
            yield make_finding("zarr/json-names", message, entry=key)
        # RFC 8259, 6: "Numeric values that cannot be represented in the grammar below (such as Infinity and NaN) are
        # not permitted."
        if "words" in faults:
            message = f"expected JSON; found the bare word {listed(faults['words'])}"
            yield make_finding("zarr/json-numbers", message, entry=key)
        # RFC 8259, 6: numbers "of greater magnitude or precision than provided by these" may not interoperate.
        if "numbers" in faults:
            message = f"numbers beyond the range of a double: {listed(faults['numbers'])}"
            yield make_finding("zarr/json-numbers", message, entry=key, severity="warning")
        # RFC 8259, 8.2: "The behavior of software that receives JSON texts containing such values is unpredictable".
        if "surrogates" in faults:
            message = "a string holds half of a surrogate pair, which is not a character"
            yield make_finding("zarr/json-text", message, entry=key)


def check_fields(node: ParsedNode) -> Iterator[Finding]:
    """Yield findings about the common fields of arrays and groups in a ``zarr.json``, and about unknown fields."""
    if not node.is_v3:
        return
    document, node_type = node.document, node.node_type
    # Core 3.1, "zarr_format": "An integer defining the version of the storage specification …, must be 3 here."
    zarr_format = document.get("zarr_format")
    if type(zarr_format) is not int or zarr_format != 3:
        yield node.finding("zarr/zarr-format", f"expected zarr_format 3; found {_found(node, 'zarr_format')}")
    # Core 3.1, "node_type": "must be array here", "must be group here".
    if not isinstance(node_type, str) or node_type not in _MANDATORY:
        yield node.finding(
            "zarr/node-type", f"expected the node_type array or group; found {_found(node, 'node_type')}"
        )
        return
    # Core 3.1, "Array metadata": "the following mandatory names".
    for name in _MANDATORY[node_type]:
        if name not in document:
            yield node.finding("zarr/missing-field", f"expected the field {name!r} of an array; it is missing")
    # Core 3.1, "attributes": "The value must be an object."
    if not isinstance(node.attributes, dict):
        yield node.finding("zarr/attributes", f"expected an object; found {shown(node.attributes)}", "/attributes")
    yield from _check_unknown(node)
    if node_type == "group" and "consolidated_metadata" in document:
        yield from _check_consolidated(node)


def check_name(node: ParsedNode) -> Iterator[Finding]:
    """Yield findings about the name of a node."""
    path = node.path
    if not path:
        return
    name = path.rpartition("/")[2]
    # Core 3.1, "Node names": "must not be the empty string", "must not be a string composed only of period
    # characters", "must not start with the reserved prefix "__"".
    if not name:
        yield node.finding("zarr/node-name", "the name of this node is empty")
    elif not name.strip("."):
        yield node.finding("zarr/node-name", f"the name {shown(name)} of this node consists only of periods")
    elif name.startswith("__"):
        yield node.finding("zarr/node-name", f"the name {shown(name)} of this node begins with '__', which is reserved")
    # Core 3.1 (2026-07-23): "must not be zarr.json".
    elif name == METADATA:
        yield node.finding(
            "zarr/node-name",
            f"the name of this node is {METADATA}, which is reserved for metadata documents",
            severity="warning",
        )


def check_node_name(node: ParsedNode) -> Iterator[Finding]:
    """Yield recommendations about the name of a node."""
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


def check_recovered(node: ParsedNode) -> Iterator[Finding]:
    """Yield what the root says about pixels that are missing because the file was recovered."""
    place = JsonPlace(node.attributes_key, node.attributes_pointer).below(OZX, RECOVERED)
    for sentence in () if node.path else describe_losses(node.attributes):
        yield place.finding("ozx/recovered", sentence)


def check_dimension_names(node: ParsedNode) -> Iterator[Finding]:
    """Yield recommendations about the names of an array's dimensions."""
    # Zarr core 3.1, "Dimension names": "it is recommended but not required that all non-null dimension names are
    # distinct (no two dimensions have the same non-empty name)."
    names = [] if node.array is None else [name for name in node.array.dimension_names or () if name]
    if several := repeated(names):
        message = f"dimension_names has {listed(several)} more than once, which {TENSORSTORE} refuses"
        yield node.finding("zarr/repeated-dimension-name", message, "/dimension_names")


def check_legacy(node: ParsedNode) -> Iterator[Finding]:
    """Yield findings about the documents of a Zarr v2 node."""
    if node.is_v3:
        return
    if node.key.endswith(".zattrs"):
        yield node.finding("zarr/v2-metadata", "attributes without a .zgroup or .zarray belong to no node")
        return
    # Zarr v2, "Metadata": "zarr_format: An integer defining the version of the storage specification".
    if node.document.get("zarr_format") != 2:
        yield node.finding("zarr/v2-metadata", f"expected zarr_format 2; found {_found(node, 'zarr_format')}")
    if node.array is None:
        return
    for name in _LEGACY_MANDATORY:
        if name not in node.document:
            yield node.finding("zarr/v2-metadata", f"expected the field {name!r} of an array; it is missing")
    for problem in node.array.problems:
        field = problem.partition(" ")[0]
        if field in node.document or field not in _LEGACY_MANDATORY:
            yield node.finding("zarr/v2-metadata", problem)
    # "order: Either "C" or "F"". "fill_value … or null".
    order = node.document.get("order", "C")
    if order not in ("C", "F"):
        yield node.finding("zarr/v2-metadata", f"expected the order C or F; found {shown(order)}", "/order")


def _check_unknown(node: ParsedNode) -> Iterator[Finding]:
    # Core 3.1, "must_understand": "An implementation MUST fail to open Zarr groups or arrays if any metadata fields
    # are present which (a) the implementation does not recognize and (b) are not explicitly set to
    # "must_understand": false."
    for field in unknown_fields(node.document):
        if field.must_understand:
            message = f'the field {shown(field.name)} is unknown, and not an object with "must_understand": false'
            yield node.finding("zarr/unknown-field", message, field.pointer)
        elif node.node_type == "group":
            message = f"{ZARR_PYTHON} refuses groups with unknown fields; Zarr lets readers ignore {shown(field.name)}"
            yield node.finding("zarr/reader-refuses", message, field.pointer)


def _check_consolidated(node: ParsedNode) -> Iterator[Finding]:
    # The field is not in core 3.1, but zarr-python writes it; it is allowed as an object that readers may ignore.
    value = node.document["consolidated_metadata"]
    if isinstance(value, dict):
        documents = value.get("metadata")
        if value.get("kind") != "inline" or not isinstance(documents, dict):
            message = f'{ZARR_PYTHON} reads only {{"kind": "inline", "metadata": {{…}}}}; found {shown(value)}'
            yield node.finding("zarr/reader-refuses", message, "/consolidated_metadata")
        elif any(not isinstance(copy, dict) for copy in documents.values()):
            message = "expected a metadata document for each node; some values are not JSON objects"
            yield node.finding("zarr/consolidated-metadata", message, "/consolidated_metadata/metadata")
        return
    # Early versions of zarr-python 3 wrote null.
    message = f"expected an object; found {shown(value)}"
    severity: Severity | None = "warning" if value is None else None
    yield node.finding("zarr/consolidated-metadata", message, "/consolidated_metadata", severity=severity)


def _found(node: ParsedNode, name: str) -> str:
    return shown(node.document[name]) if name in as_object(node.document) else "none"


# Comparison of the copies in the root's consolidated metadata with the nodes themselves.


def consolidated_copies(root: ParsedNode) -> dict[str, Any] | None:
    """Return the copies in a root's consolidated metadata by path; None if there are none that can be compared."""
    copies = as_object(root.document.get(CONSOLIDATED)).get("metadata")
    # `zarr/consolidated-metadata` and `zarr/reader-refuses` report values of other forms.
    if not isinstance(copies, dict) or not all(isinstance(copy, dict) for copy in copies.values()):
        return None
    return dict(copies)


def check_copies(differing: Sequence[str], missing: Sequence[str], left: Sequence[str]) -> Iterator[Finding]:
    """Yield findings about nodes whose copies differ, nodes without a copy, and copies without a node."""
    # Not in core 3.1: zarr-python reads the copies instead of the documents.
    for paths, what in (
        (differing, "copies that differ from their nodes"),
        (missing, "nodes without a copy"),
        (left, "copies of missing nodes"),
    ):
        if paths:
            message = f"{what}: {len(paths):,}, {listed(paths)}"
            pointer = f"/{CONSOLIDATED}/metadata"
            yield make_finding("zarr/stale-copies", message, entry=ROOT_METADATA, pointer=pointer)
