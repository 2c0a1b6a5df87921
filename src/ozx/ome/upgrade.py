"""Upgrade of all metadata of a hierarchy from OME-Zarr 0.4 (Zarr v2) to 0.5 (Zarr v3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ozx.errors import FormatError, OzxError, UnsupportedError
from ozx.ome.conversion_05_06 import ConvertedGroup
from ozx.ome.model import OME_KEYS
from ozx.ome.nodes import NoteCollector, group_command, tell
from ozx.zarr.json_reading import Document, as_list, as_object, as_text, dump_document, parse_document
from ozx.zarr.keys import METADATA, breadth_first, join_path
from ozx.zarr.v2_arrays import UpgradedArray, upgrade_array
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


# The upgrade of a hierarchy, node by node.

_ARRAY, _GROUP, _ATTRIBUTES = ".zarray", ".zgroup", ".zattrs"
_ONE_HIERARCHY = "rfc9/one-hierarchy"


def upgrade_hierarchy(
    documents: Mapping[str, bytes], *, keep_numcodecs: bool = False, path: str = "FILE"
) -> UpgradedHierarchy:
    """Upgrade the metadata of a hierarchy from OME-Zarr 0.4 to 0.5, given the values of all its metadata keys.

    Each value is read at most once. Values of ``.zmetadata`` are never read, because they are copies. `keep_numcodecs`
    keeps chunks whose codecs only zarr-python reads, instead of transcoding them. Hints name `path`.
    """
    hierarchy = UpgradedHierarchy(documents, keep_numcodecs=keep_numcodecs)
    hierarchy.upgrade_groups(path)
    hierarchy.add_folders()
    hierarchy.upgrade_arrays()
    hierarchy.sort()
    return hierarchy


def check_root(documents: Mapping[str, bytes]) -> None:
    """Raise an error if the root prevents the upgrade of a Zarr v2 hierarchy; all other nodes are ignored."""
    root = {key: documents[key] for key in (_GROUP, _ARRAY, _ATTRIBUTES) if key in documents}
    hierarchy = UpgradedHierarchy(root, keep_numcodecs=False)
    hierarchy.upgrade_groups()
    for refusal in hierarchy.refusals:
        raise refusal


def _sort_nodes(keys: Iterable[str]) -> tuple[dict[str, None], dict[str, None], dict[str, None]]:
    """Return the paths of Zarr v2 nodes with ``.zarray``, with ``.zgroup`` and with ``.zattrs``, in the keys' order."""
    arrays: dict[str, None] = {}
    groups: dict[str, None] = {}
    attributes: dict[str, None] = {}
    kinds = {_ARRAY: arrays, _GROUP: groups, _ATTRIBUTES: attributes}
    for key in keys:
        path, _, name = key.rpartition("/")
        if name == METADATA:
            raise FormatError(
                f"expected only Zarr v2 metadata; found {key}, which is Zarr v3",
                rule=_ONE_HIERARCHY,
                hint="Put the files of Zarr v2 and of Zarr v3 into separate folders, and convert each.",
            )
        if name in kinds:
            kinds[name][path] = None
    if "" in arrays:
        raise FormatError(
            "expected a group at the root; found an array: this is Zarr, but not OME-Zarr", rule=_ONE_HIERARCHY
        )
    if "" not in groups and "" not in attributes:
        raise FormatError(
            "expected .zgroup at the root; there is none",
            rule="rfc9/root",
            hint="Give the path of the folder or file whose root is the image, the plate or the series.",
        )
    return arrays, groups, attributes


class UpgradedHierarchy:
    """A hierarchy upgraded from Zarr v2 to v3, node by node."""

    def __init__(self, stored: Mapping[str, bytes], *, keep_numcodecs: bool) -> None:
        # The ``zarr.json`` of every node by its path; also of folders that contain nodes but had no metadata. Equal
        # arrays share one document: copy a document before you change it.
        self.documents: dict[str, Document] = {}
        # Each upgraded array by path; its document is the one in `documents`.
        self.arrays: dict[str, UpgradedArray] = {}
        self._stored = stored
        self._keep_numcodecs = keep_numcodecs
        self._array_paths, self._group_paths, self._with_attributes = _sort_nodes(stored)
        # By path of the array: the names of its dimensions, and the group that names them.
        self._names: dict[str, tuple[tuple[str, ...], str]] = {}
        # The upgraded array by its stored documents: the arrays of a plate have only a few different documents.
        self._alike: dict[object, UpgradedArray | OzxError] = {}
        self._sound_groups: set[bytes] = set()
        self._notes = NoteCollector()
        # By error: the paths of the nodes that have it.
        self._refusals: dict[tuple[type[OzxError], str, str | None, str | None], list[str]] = {}

    def _iter_groups(self) -> Iterator[str]:
        """Yield the paths of all groups, including nodes that have only attributes."""
        yield from self._group_paths
        known = self._group_paths.keys() | self._array_paths
        yield from (path for path in self._with_attributes if path not in known)

    def upgrade_groups(self, source: str = "FILE") -> None:
        """Upgrade every group, and collect the dimension names of all levels; hints name `source`."""
        images, root_is_ome = [], True
        for path in self._iter_groups():
            try:
                group = self._upgrade_group(path)
            except OzxError as error:
                self._refuse(path, error)
                continue
            self.documents[path] = group.document
            for note in group.notes:
                self._notes.add(path, note)
            for level, names in group.dimension_names:
                self._name(join_path(path, level), names, path)
            if group.dimension_names:
                images.append(path)
            if not path:
                root_is_ome = "ome" in group.document["attributes"]
        if not root_is_ome:
            below = sorted(images, key=breadth_first)
            found = (
                f"; OME-Zarr images are below it: {', '.join(below[:3])}{', …' if below[3:] else ''}" if below else ""
            )
            raise FormatError(
                f"expected OME-Zarr metadata at the root; found a plain Zarr group{found}",
                rule=_ONE_HIERARCHY,
                hint=f"Make a file of each image. For the first, run: {group_command(source, below[0], is_v2=True)}"
                if below
                else "An .ozx file holds OME-Zarr: write OME-Zarr metadata first, for example with ome-zarr-py.",
            )

    def _upgrade_group(self, path: str) -> ConvertedGroup:
        if path in self._array_paths:
            raise FormatError("expected an array or a group; found both .zarray and .zgroup")
        if path not in self._group_paths:
            self._notes.add(path, "treated as a group: it has .zattrs, but neither .zgroup nor .zarray")
        elif (stored := self._stored[join_path(path, _GROUP)]) not in self._sound_groups:
            version = parse_document(stored, _GROUP).get("zarr_format")
            if version != 2:
                raise FormatError(f"expected zarr_format 2; found {version!r}")
            self._sound_groups.add(stored)
        stored_attributes = self._read_attributes(path)
        return upgrade_group(None if stored_attributes is None else parse_document(stored_attributes, _ATTRIBUTES))

    def _read_attributes(self, path: str) -> bytes | None:
        return self._stored[join_path(path, _ATTRIBUTES)] if path in self._with_attributes else None

    def _name(self, array: str, names: tuple[str, ...], group: str) -> None:
        """Record the dimension names of one level of the image at `group`."""
        known, other = self._names.setdefault(array, (names, group))
        if array not in self._array_paths:
            self._notes.add(array, "this path is listed as a level, but it has no array")
        elif known != names:
            self._refuse(
                array,
                UnsupportedError(
                    f"two images list this array with different axes: ({', '.join(known)}) in {other or 'the root'}, "
                    f"({', '.join(names)}) in {group or 'the root'}",
                    hint="Zarr v3 stores the names in the array: store a separate copy of the array for each image.",
                ),
            )

    def add_folders(self) -> None:
        """Add a group for every folder above a node, because Zarr core 3.1 has no implicit groups."""
        groups = dict.fromkeys(self._iter_groups())
        for path in [*groups, *self._array_paths]:
            above = path
            while above:
                self._check_name(above)
                above = above.rpartition("/")[0]
                if above in self._array_paths:
                    self._refuse(
                        path, FormatError(f"expected no nodes inside an array; found a node below the array {above}")
                    )
                    break
                if above in groups:
                    break
                groups[above] = None
                self.documents[above] = group_document({})

    def _check_name(self, path: str) -> None:
        # Zarr core 3.1, "Node names": not only periods, not beginning with "__", and since 2026-07 not "zarr.json".
        name = path.rpartition("/")[2]
        if not name.strip(".") or name.startswith("__") or name == METADATA:
            self._refuse(
                path,
                UnsupportedError(
                    f"expected a node name that Zarr v3 allows; found {name!r}",
                    hint="Rename the node, and change all references to it.",
                ),
            )

    def upgrade_arrays(self) -> None:
        """Upgrade every array; arrays with equal metadata share one result."""
        for path in self._array_paths:
            stored, attributes = self._stored[join_path(path, _ARRAY)], self._read_attributes(path)
            names = self._names[path][0] if path in self._names else None
            alike = (stored, attributes, names)
            if alike not in self._alike:
                self._alike[alike] = self._upgrade_array(*alike)
            array = self._alike[alike]
            if isinstance(array, OzxError):
                self._refuse(path, array)
                continue
            self.documents[path], self.arrays[path] = array.document, array
            for note in array.notes:
                self._notes.add(path, note)

    def _upgrade_array(
        self, stored: bytes, attributes: bytes | None, names: tuple[str, ...] | None
    ) -> UpgradedArray | OzxError:
        try:
            return upgrade_array(
                parse_document(stored, _ARRAY),
                None if attributes is None else parse_document(attributes, _ATTRIBUTES),
                names,
                keep_numcodecs=self._keep_numcodecs,
            )
        except OzxError as error:
            return error

    def _refuse(self, path: str, error: OzxError) -> None:
        self._refusals.setdefault((type(error), error.message, error.rule, error.hint), []).append(path)

    def sort(self) -> None:
        """Put the nodes into breadth-first order."""
        self.documents = {path: self.documents[path] for path in sorted(self.documents, key=breadth_first)}
        self.arrays = {path: self.arrays[path] for path in sorted(self.arrays, key=breadth_first)}

    @property
    def notes(self) -> tuple[str, ...]:
        """Differences worth a note, one sentence each."""
        return self._notes.sentences()

    @property
    def refusals(self) -> tuple[OzxError, ...]:
        """The reasons why the hierarchy cannot be upgraded.

        Nodes with the same reason share one error, and are missing in `documents`.
        """
        return tuple(
            kind(tell(paths[0], len(paths), message), rule=rule, hint=hint)
            for (kind, message, rule, hint), paths in self._refusals.items()
        )

    def iter_values(self) -> Iterator[tuple[str, bytes]]:
        """Yield the key and the value of every new ``zarr.json``, breadth-first."""
        known: dict[int, bytes] = {}  # many arrays share one document
        for path, document in self.documents.items():
            if path not in self.arrays:
                yield join_path(path, METADATA), dump_document(document)
                continue
            if id(document) not in known:
                known[id(document)] = dump_document(document)
            yield join_path(path, METADATA), known[id(document)]
