"""Conversion of a Zarr v2 group to v3: OME-Zarr 0.4 attributes become 0.5, other attributes stay unchanged."""

from __future__ import annotations

from typing import Any

from ozx.errors import FormatError, UnsupportedError
from ozx.ome.conversion_05_06 import ConvertedGroup
from ozx.ome.model import OME_KEYS
from ozx.zarr.json_reading import Document, as_list, as_object, as_text
from ozx.zarr.v2_documents import portable_attributes

_OLD, _NEW = "0.4", "0.5"
_OME = "ome"
#: 0.5 has one version per group, under `ome`. In these objects its text asks for a second version ("plate": MUST,
# "well" and "image-label": SHOULD), though the schemas do not.
WITH_VERSION = ("plate", "well", "image-label")
_HINT = (
    "ozx upgrades OME-Zarr 0.4 only: save it as 0.4 or 0.5 first, with the program that wrote it "
    "(bioformats2raw, ome-zarr-py, …)."
)


def group_document(attributes: dict[str, Any]) -> Document:
    """Return the ``zarr.json`` of a group with these attributes, with fields in the order of zarr-python."""
    return {"attributes": attributes, "zarr_format": 3, "node_type": "group"}


def upgrade_group(attributes: dict[str, Any] | None = None) -> ConvertedGroup:
    """Upgrade a group's attributes; OME-Zarr 0.4 attributes move to ``ome`` in the form of 0.5."""
    found = attributes or {}
    if _OME in found:
        version = as_text(as_object(found[_OME]).get("version")) or "unknown"
        raise UnsupportedError(
            f"expected OME-Zarr 0.4 in Zarr v2; found the attribute {_OME!r} of OME-Zarr 0.5 (version {version})",
            hint=_HINT,
        )
    portable, notes = portable_attributes(found)
    ours = {key: value for key, value in portable.items() if key in OME_KEYS}
    others = {key: value for key, value in portable.items() if key not in OME_KEYS}
    if not ours:
        return ConvertedGroup(group_document(others), notes=tuple(notes))
    names = tuple(_names_of_levels(ours["multiscales"])) if "multiscales" in ours else ()
    ome = {"version": _NEW, **{key: _upgrade(key, value) for key, value in ours.items()}}
    return ConvertedGroup(group_document({_OME: ome, **others}), names, tuple(notes))


def _upgrade(key: str, value: Any) -> Any:
    if key == "multiscales":
        return [_without_version(item) for item in value]
    if key == "omero":
        return _without_version(value)
    if key == "plate":  # wells and label images have had one form since 0.1, whatever version they give
        _check_version(key, value)
    if key in WITH_VERSION and isinstance(value, dict):
        return {**value, "version": _NEW}
    return value


def _without_version(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {key: item for key, item in value.items() if key != "version"}


def _check_version(where: str, value: Any) -> None:
    # 0.4 asks for a version in plates, and recommends it in images.
    version = as_object(value).get("version", _OLD)
    if str(version) != _OLD:
        raise UnsupportedError(f"expected OME-Zarr 0.4; found {version} ({where})", rule="rfc9/root", hint=_HINT)


def _names_of_levels(multiscales: Any) -> list[tuple[str, tuple[str, ...]]]:
    """Return the path and the axis names of each resolution level of an image."""
    if not isinstance(multiscales, list) or not all(isinstance(item, dict) for item in multiscales):
        raise FormatError("expected multiscales to be a list of objects")
    found = []
    for index, item in enumerate(multiscales):
        _check_version(f"multiscales/{index}", item)
        names = _axis_names(item, f"multiscales/{index}")
        paths = (as_text(as_object(dataset).get("path")) for dataset in as_list(item.get("datasets")))
        found += [(path, names) for path in paths if path is not None]
    return found


def _axis_names(item: dict[str, Any], where: str) -> tuple[str, ...]:
    # 0.4, "axes metadata": a list of objects, each with a name, no name twice.
    axes = item.get("axes")
    if axes is None:
        raise UnsupportedError(
            f"expected OME-Zarr 0.4; found 0.1 or 0.2, which have no axes ({where})", rule="rfc9/root", hint=_HINT
        )
    if isinstance(axes, list) and any(isinstance(axis, str) for axis in axes):
        raise UnsupportedError(
            f"expected OME-Zarr 0.4; found axes that are only names, as in 0.3 ({where})", rule="rfc9/root", hint=_HINT
        )
    names = tuple(as_text(as_object(axis).get("name")) for axis in as_list(axes))
    if not names or None in names or len(set(names)) < len(names):
        raise FormatError(f"expected axes with distinct names; found {axes!r} ({where})")
    return tuple(name for name in names if name is not None)
