"""Rules about the OME-Zarr metadata of a single node: its version, and the value of each key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from ozx.hierarchy.json.values import as_list, as_object
from ozx.hierarchy.ome.metadata import OME_KEYS
from ozx.hierarchy.ome.versions import describe_draft, has_systems, is_before_objects, is_understood
from ozx.validation.nodes.document import NodeDocument
from ozx.validation.nodes.place import Place
from ozx.validation.ome.coordinates.scene import check_scene
from ozx.validation.ome.image_labels import check_image_label, check_labels
from ozx.validation.ome.multiscales import check_multiscales
from ozx.validation.ome.omero import check_omero
from ozx.validation.ome.plates import check_plate, check_well
from ozx.validation.ome.series import LAYOUT, check_layout, check_series
from ozx.validation.report import Finding
from ozx.validation.wording import listed, shown

_Check = Callable[[Any, Place], Iterator[Finding]]

_CHECKS: dict[str, _Check] = {
    "omero": check_omero,
    "labels": check_labels,
    LAYOUT: check_layout,
    "series": check_series,
}
_SPATIALDATA = "The library spatialdata writes and reads this version. ozx copies such metadata, but cannot convert it."
# RFC-3, in 0.9.dev1 and 0.9.dev2, allows any number, types and order of axes.
_FREE_AXES = ("ome/axes-count", "ome/axes-order", "ome/axes-zyx", "ome/axis-type")
# Parts with a version in OME-Zarr 0.4.
_VERSIONED = ("omero", "plate", "well", "image-label")


def inner_versions(ome: dict[str, Any]) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Yield path and value of each ``version`` inside OME-Zarr metadata.

    Examples
    --------
    >>> list(inner_versions({"multiscales": [{"version": "0.4"}], "plate": {"version": "0.5"}}))
    [(('multiscales', 0, 'version'), '0.4'), (('plate', 'version'), '0.5')]
    """
    for number, item in enumerate(as_list(ome.get("multiscales"))):
        if "version" in as_object(item):
            yield ("multiscales", number, "version"), item["version"]
    for key in _VERSIONED:
        if "version" in as_object(ome.get(key)):
            yield (key, "version"), ome[key]["version"]


def check_ome(node: NodeDocument) -> Iterator[Finding]:
    """Yield findings about the OME-Zarr metadata of a node."""
    attributes = as_object(node.attributes)
    if node.node_type == "array":
        return
    yield from _check_namespace(node, attributes)
    ome = node.ome
    if ome is None:
        return
    place = Place(node.attributes_key, node.ome_pointer)
    if node.is_v3:
        version = ome["version"] if isinstance(ome.get("version"), str) else None
        yield from _check_inner_versions(ome, place)
    else:
        version = next((value for _, value in inner_versions(ome) if isinstance(value, str)), None)
        yield from _check_versions_of_v2(ome, place)
    findings = _check_keys(ome, place, version, is_v2=not node.is_v3)
    draft = describe_draft(version) if node.is_v3 and version is not None else None
    if is_understood(version, is_v3=node.is_v3):
        is_early = version is not None and is_before_objects(version)
        yield from _without_errors(findings) if is_early else findings
    elif draft is not None:
        yield from (finding for finding in _without_errors(findings) if finding.id not in _FREE_AXES)
    else:
        known = "0.5 and 0.6" if node.is_v3 else "0.4"
        message = f"not checked: unknown OME-Zarr version {shown(version)}; in this Zarr version, ozx checks {known}"
        hint = _SPATIALDATA if str(version).endswith("-spatialdata") else None
        yield place.finding("ome/unknown-version", message, hint=hint)


def _without_errors(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield findings with errors turned into warnings, for rules of another version."""
    for finding in findings:
        yield replace(finding, severity="warning") if finding.severity == "error" else finding


def _checks_of(version: str | None) -> Iterator[tuple[str, _Check]]:
    """Yield each key of OME-Zarr metadata in this version, with the check of its value."""
    with_systems = has_systems(version)
    yield "multiscales", partial(check_multiscales, has_systems=with_systems)
    yield "plate", partial(check_plate, has_version=not with_systems)
    yield "well", partial(check_well, has_free_paths=bool(with_systems))
    if with_systems is not False:
        yield "scene", check_scene
    yield from _CHECKS.items()


def _check_keys(ome: dict[str, Any], place: Place, version: str | None, *, is_v2: bool) -> Iterator[Finding]:
    for key, check in _checks_of(version):
        if key in ome:
            yield from check(ome[key], place / key)
    if ome.get("labels") == [] and not is_v2:
        yield (place / "labels").finding("ome/schema", "the schema expects at least one label; the list is empty")
    if "image-label" in ome:
        # OME-Zarr 0.5.2, "labels": "The `zarr.json` file for the label image MUST implement the multiscales
        # specification."
        if "multiscales" not in ome:
            message = "expected multiscales beside image-label; they are missing"
            yield (place / "image-label").finding("ome/label-missing", message)
        yield from check_image_label(ome["image-label"], place / "image-label", is_v2=is_v2)


def _check_namespace(node: NodeDocument, attributes: dict[str, Any]) -> Iterator[Finding]:
    # OME-Zarr 0.5.2, "OME-Zarr Metadata": "In this file, the metadata is stored under the namespaced key `ome` in
    # `attributes`."
    where = Place(node.attributes_key, node.attributes_pointer)
    if node.is_v3:
        if "ome" in attributes and node.ome is None:
            message = f"expected attributes.ome to be an object; found {shown(attributes['ome'])}"
            yield (where / "ome").finding("ome/metadata", message)
        # A Zarr convention also uses the key `multiscales`, but with an object as its value.
        found = [
            key
            for key in OME_KEYS
            if key in attributes and isinstance(attributes[key], list if key == "multiscales" else dict)
        ]
        if found:
            message = f"{listed(found)} are in attributes; OME-Zarr in Zarr v3 has them in attributes.ome"
            yield where.finding("ome/namespace", message)
    # OME-Zarr 0.4.2, "Metadata": "The various `.zattrs` files throughout the above array hierarchy may contain metadata
    # keys as specified below".
    elif isinstance(attributes.get("ome"), dict):
        message = "readers of Zarr v2 look for OME-Zarr metadata directly in the attributes, not in ome"
        yield (where / "ome").finding("ome/namespace", message)


def _check_inner_versions(ome: dict[str, Any], place: Place) -> Iterator[Finding]:
    version = ome.get("version")
    # "The OME-Zarr Metadata version MUST be consistent within a hierarchy."
    for path, inner in inner_versions(ome):
        if isinstance(version, str) and inner != version:
            message = f"expected {shown(version)}, the version of the group, or no version; found {shown(inner)}"
            yield place.below(*path).finding("ome/inner-version", message)


def _check_versions_of_v2(ome: dict[str, Any], place: Place) -> Iterator[Finding]:
    # OME-Zarr 0.4.2, "multiscales": "It SHOULD contain the field "version", which indicates the version of the
    # multiscale metadata of this image (current version is 0.4)."
    for number, item in enumerate(as_list(ome.get("multiscales"))):
        if isinstance(item, dict) and not isinstance(item.get("version"), str):
            message = "expected a version, a string; it is missing"
            yield (place / "multiscales" / number).finding("ome/version", message)
    # The text of 0.4 recommends a version of a label image, and names no version of a well; label.schema and
    # well.schema require both.
    for key in ("image-label", "well"):
        if isinstance(ome.get(key), dict) and "version" not in ome[key]:
            message = f"the schema of 0.4 expects a version in {key}; it is missing"
            yield (place / key).finding("ome/schema", message)
