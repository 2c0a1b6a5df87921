"""Validation results of a document of attributes or of a hierarchy, for the conformance runner of ngff-spec."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from ozx.errors import FormatError, resource_errors
from ozx.validation.nodes.facts import ParsedNode, facts_of
from ozx.validation.nodes.place import JsonPlace
from ozx.validation.ome.coordinates.ends import check_connections
from ozx.validation.ome.documents import check_ome
from ozx.validation.ome.nodes import OmeNodes
from ozx.validation.report import Finding
from ozx.validation.rules.findings import finding_from_error
from ozx.validation.validate import validate
from ozx.validation.wording import shown
from ozx.zarr.json_reading import as_list, as_object, parse_strictly
from ozx.zarr.keys import ROOT_METADATA

# This finding is not reported, because the runner's cases of label images contain no `multiscales`.
_ELSEWHERE = ("ome/label-missing",)
# Findings based on the published schemas, which count, and notes about recommendations of the text, which count if
# `count_recommended`.
_BY_SCHEMA = ("ome/schema", "ome/scale-value")
_RECOMMENDED = ("ome/image-label", "ome/downscaling")
_ARCHIVES = (".ozx", ".zip")


@resource_errors()
def conformance(path: str | os.PathLike[str], *, count_recommended: bool = False) -> tuple[bool, str]:
    """Return whether metadata is valid, with messages, in the form that the runner of ngff-spec requires.

    Findings based only on the published schemas count, too, because the runner's cases come from these schemas.

    `path`: a JSON file with the attributes of one group, or a hierarchy: a directory, an ``.ozx`` or ``.zip`` file, or
    a URL.
    """
    if os.path.isfile(path) and not os.fspath(path).lower().endswith(_ARCHIVES):
        with open(path, "rb") as file:
            findings = list(check_attributes(file.read(), count_recommended=count_recommended))
    else:
        findings = list(validate(path, second_opinion=False).findings)
    counted = [
        finding
        for finding in findings
        if finding.severity == "error"
        or finding.id in _BY_SCHEMA
        or (count_recommended and (_is_warning(finding) or finding.id in _RECOMMENDED))
    ]
    return not counted, "; ".join(f"{finding.id}: {finding.message}" for finding in counted)


def _is_warning(finding: Finding) -> bool:
    """Return whether a finding is a warning about OME-Zarr metadata, not about the file or the arrays."""
    return finding.severity == "warning" and finding.id.startswith("ome/")


def check_attributes(data: bytes, *, count_recommended: bool = False) -> Iterator[Finding]:
    """Yield findings about the attributes of one group, without findings about other nodes.

    With `count_recommended`, each image must have all recommended descriptions, even an image of one level.
    """
    try:
        attributes, _ = parse_strictly(data, "attributes")
    except FormatError as error:
        yield finding_from_error(error)
        return
    group = {"zarr_format": 3, "node_type": "group", "attributes": attributes}
    node = ParsedNode.of_v3(ROOT_METADATA, group)
    place = JsonPlace(ROOT_METADATA, "/attributes")
    # OME-Zarr 0.6, "OME-Zarr Metadata": "The group `attributes` MUST contain a key `ome`. The value of the `ome` key
    # MUST be a JSON object that MUST contain a `version` key, the value of which MUST be a string".
    if node.ome is None:
        yield place.finding(
            "ome/metadata", f"expected the key ome with an object; found the keys {shown(list(attributes))}"
        )
        return
    if not isinstance(node.ome.get("version"), str):
        yield (place / "ome").finding("ome/version", "expected a version, a string", severity="error")
    yield from (finding for finding in check_ome(node) if finding.id not in _ELSEWHERE)
    if count_recommended:
        yield from _check_descriptions(node.ome, place / "ome")
    yield from check_connections(OmeNodes({"": facts_of(node)}))


def _check_descriptions(ome: dict[str, Any], place: JsonPlace) -> Iterator[Finding]:
    # "Each `multiscales` object SHOULD contain the field `name`", `type`, and `metadata`.
    for number, item in enumerate(map(as_object, as_list(ome.get("multiscales")))):
        missing = [key for key in ("name", "type", "metadata") if key not in item]
        if missing:
            message = f"expected {' and '.join(missing)}; missing"
            yield (place / "multiscales" / number).finding("ome/downscaling", message)
