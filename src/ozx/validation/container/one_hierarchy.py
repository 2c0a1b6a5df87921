"""Rules of RFC-9 (R2, 2026-04-20): an archive contains exactly one OME-Zarr hierarchy.

No function here reads a file: the documents, or facts about them, come from an archive or a directory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, groupby

from ozx.archive.other_formats import describe_names
from ozx.errors import FormatError, UnsupportedError
from ozx.ome.nodes import group_command
from ozx.validation.nodes.facts import NodeFacts, ReadFault, read_nodes
from ozx.validation.report import Finding
from ozx.validation.rules.findings import each, finding_from_error, make_finding
from ozx.validation.wording import brief
from ozx.zarr.keys import (
    LEGACY_METADATA,
    METADATA,
    ROOT_METADATA,
    breadth_first,
    is_metadata_key,
    join_path,
    node_of,
    paths_above,
)

# From this number of entries on, `rfc9/sharding` is a warning instead of a note; RFC-9 gives no number.
MANY_DATA_ENTRIES = 1000

_CONVERT = "`ozx repack` and `ozx pack` convert it to OME-Zarr 0.5."

_OF_THE_ROOT = ("rfc9/root", "rfc9/one-hierarchy")
_JOIN = (
    "Each chunk covers all of one time point or channel, and automatic shards do not join time points or channels. "
    "`ozx repack --shards {}`, for example, joins them."
)
_OF_ARRAY = (
    "Write the metadata of OME-Zarr into a group around the arrays, or make an image of one array in Python: "
    'ozx.write_image("OUT.ozx", array, axes="tcyx").'
)
_EXPECTED = "expected a zarr.json at the root; found"

_Nodes = Mapping[str, NodeFacts]


def check_new_metadata(
    metadata: Mapping[str, bytes], legacy_keys: Iterable[str] = (), *, path: str, node: str = ""
) -> tuple[str, ...]:
    """Check ``zarr.json`` documents read from `node` in `path` before they are written, and return notes about them.

    A mapping may read the documents lazily: each key is looked up once, the root's first.
    """
    nodes, faults = read_nodes(metadata)
    for finding in chain(check_read_faults(faults), check_nodes(nodes, tuple(legacy_keys), path=path, node=node)):
        if finding.severity == "error":
            where = f"{path}/{node}" if node else path
            raise FormatError(finding.message, path=where, rule=finding.id, hint=finding.hint)
    # RFC 8259, 6: "Numeric values that cannot be represented in the grammar below (such as Infinity and NaN) are not
    # permitted." zarr-python writes them, so this is no reason to refuse a hierarchy.
    found = sorted((node.key for node in nodes.values() if node.bare_words), key=breadth_first)
    if not found:
        return ()
    word, more = nodes[node_of(found[0])].bare_words[0], len(found) - 1
    where = f"{found[0]}{f' and {more:,} more' if more else ''}"
    what = f"the bare word {word} is no JSON, so many programs cannot read the metadata"
    return (f"{where}: {what}; write such numbers as text",)


def check_read_faults(faults: Sequence[ReadFault]) -> Iterator[Finding]:
    """Yield a finding for each unreadable ``zarr.json``; the read error names the broken rule (Zarr core 3.1)."""

    def rule_of(fault: ReadFault) -> str:
        return fault[1].rule or ""

    for rule, group in groupby(sorted(faults, key=rule_of), key=rule_of):
        yield from each(rule, list(group), lambda fault: finding_from_error(fault[1], entry=fault[0]))


def check_nodes(
    nodes: _Nodes,
    legacy_keys: Sequence[str] = (),
    names: Iterable[str] = (),
    legacy: Mapping[str, bytes] | None = None,
    *,
    folder: str | None = None,
    path: str | None = None,
    node: str = "",
) -> Iterator[Finding]:
    """Yield findings about a hierarchy; `nodes` are the facts about its nodes, by path.

    Hints name `path`, by default `folder`, and the path of the root in it, `node`.
    `names` are the names of all files, used if there is no node; `legacy` are the documents of `legacy_keys`.
    If the hierarchy is in the directory `folder`, OME-Zarr 0.4 is only a note.
    """
    root = nodes.get("")
    if root is None:
        # RFC-9: "The ZIP file MUST contain the OME-Zarr's root-level zarr.json." Other findings would only follow from
        # this one.
        missing = _missing_root(nodes, legacy_keys, folder)
        if not nodes and not legacy_keys:
            found, hint = describe_names(names, folder or "", is_folder=folder is not None) or ("", "")
            missing = make_finding("rfc9/root", f"{_EXPECTED} {found}", hint=hint) if found else missing
        refused = None if nodes or legacy is None else _refused_by_pack(legacy)
        if refused is not None:
            yield refused
            return
        is_old = folder is not None and any(name in legacy_keys for name in LEGACY_METADATA)
        yield replace(missing, severity="note", hint=f"No action is needed. {_CONVERT}") if is_old else missing
        return
    # RFC-9: "The ZIP file MUST contain exactly one OME-Zarr hierarchy."
    yield from _check_root(root, nodes, folder if path is None else path, node)
    yield from _check_reached(nodes)
    yield from each(
        "rfc9/one-hierarchy",
        legacy_keys,
        lambda key: make_finding(
            "rfc9/one-hierarchy",
            f"{key} is Zarr v2 metadata in a Zarr v3 hierarchy",
            entry=key,
            hint="Remove it if the zarr.json of the node has the same metadata; otherwise convert the node to Zarr v3.",
        ),
    )
    yield from _check_versions(root, nodes)


def check_sharding(nodes: _Nodes, keys: Iterable[str]) -> Iterator[Finding]:
    """Yield a finding if arrays of several chunks have no shards."""
    # RFC-9: "The sharding codec SHOULD be used to reduce the number of entries within the ZIP archive."
    arrays = {path: node.key for path, node in nodes.items() if (node.unsharded_chunks or 0) > 1}
    if not arrays:
        return
    count = sum(not arrays.keys().isdisjoint(paths_above(key)) and not is_metadata_key(key) for key in keys)
    if count < 2:
        return
    first = min(arrays.values(), key=breadth_first)
    what = f"the array {first.removesuffix('/' + METADATA)!r} of several chunks is not sharded; its"
    if len(arrays) > 1:
        what = f"{len(arrays):,} arrays of several chunks are not sharded; their"
    joined = [nodes[path].joining_shards for path in sorted(arrays, key=breadth_first)]
    yield make_finding(
        "rfc9/sharding",
        f"{what} chunks take {count:,} entries",
        entry=first,
        severity="warning" if count >= MANY_DATA_ENTRIES else "note",
        hint=_JOIN.format(joined[0]) if all(joined) else None,
    )


def _missing_root(nodes: _Nodes, legacy_keys: Sequence[str], folder: str | None) -> Finding:
    found = [name for name in LEGACY_METADATA if name in legacy_keys]
    if found:
        message = f"{_EXPECTED} {found[0]}: this is OME-Zarr 0.4 (Zarr v2)"
        return make_finding("rfc9/root", message, entry=found[0], hint=f"RFC-9 requires OME-Zarr 0.5. {_CONVERT}")
    paths = {*nodes, *map(node_of, legacy_keys)}
    top = min(paths, key=breadth_first, default="")
    if top == ".":  # some programs write this name when they pack their working folder
        hint = "Unpack the file with the program that wrote it, then run `ozx pack` on the folder."
        return make_finding("rfc9/root", f"{_EXPECTED} './{METADATA}', which is another name", entry=top, hint=hint)
    is_legacy = top not in nodes
    is_root = is_legacy or nodes[top].node_type != "array"
    if paths and is_root and all(path == top or path.startswith(f"{top}/") for path in paths):
        version = "an OME-Zarr 0.4 (Zarr v2) hierarchy" if is_legacy else "the hierarchy"
        message = f"{_EXPECTED} {version} in the folder {top!r} instead"
        command = None if folder is None else f"Pack this folder itself: {group_command(folder, top)}"
        return make_finding("rfc9/root", message, entry=top, hint=command)
    if paths:
        folders = sorted({path.partition("/")[0] for path in paths})
        names = ", ".join(map(repr, folders[:3])) + (", …" if len(folders) > 3 else "")
        return make_finding(
            "rfc9/root",
            f"{_EXPECTED} {len(paths):,} nodes, but no node that contains all of them: {names}",
            hint="If these are several images, pack each of them on its own; otherwise write the root's zarr.json.",
        )
    return make_finding("rfc9/root", f"{_EXPECTED} no Zarr metadata", hint="Check that this is OME-Zarr.")


def _refused_by_pack(legacy: Mapping[str, bytes]) -> Finding | None:
    """Return a finding if `pack` refuses a Zarr v2 hierarchy: one without OME-Zarr metadata, or older than 0.4."""
    if not any(name in legacy for name in LEGACY_METADATA[:3]):
        return None
    from ozx.ome.upgrade import check_root  # noqa: PLC0415 (numpy, which packing does not need)

    try:
        check_root(legacy)
    except (FormatError, UnsupportedError) as error:
        # A broken document has a finding of its own.
        return make_finding(error.rule, error.message, hint=error.hint) if error.rule in _OF_THE_ROOT else None
    return None


def _check_root(root: NodeFacts, nodes: _Nodes, path: str | None, node: str) -> Iterator[Finding]:
    if not root.is_known:
        return
    pointer, hint = None, None
    if root.node_type == "array":
        message = "the root is an array: this is Zarr, but not OME-Zarr, which has a group at its root"
        hint = _OF_ARRAY
    elif root.node_type != "group":
        message = f"zarr.json: expected the node_type group; found {brief(root.node_type)}"
        pointer = "/node_type"
    elif root.zarr_format != 3:
        message = f"zarr.json: expected zarr_format 3; found {brief(root.zarr_format)}"
        pointer = "/zarr_format"
    elif not root.has_ome:
        message = "zarr.json has no attributes.ome: this is Zarr, but not OME-Zarr"
        hint = _OF_ARRAY
        below = [key for key in sorted(filter(None, nodes), key=breadth_first) if isinstance(nodes[key].version, str)]
        if below:
            message += f"; OME-Zarr groups below it: {', '.join(below[:3])}{', …' if below[3:] else ''}"
            command = group_command(path or "FILE", join_path(node, below[0]))
            hint = f"Make a file of each group. For the first, run: {command}"
        pointer = "/attributes"
    elif not isinstance(root.version, str):
        found = "none" if root.version is None else brief(root.version)
        message = f"zarr.json: expected attributes.ome.version, a string; found {found}"
        hint = "Write the OME-Zarr version into the root's zarr.json, such as 0.5."
        pointer = "/attributes/ome"
    else:
        return
    yield make_finding("rfc9/one-hierarchy", message, entry=ROOT_METADATA, pointer=pointer, hint=hint)


def _check_reached(nodes: _Nodes) -> Iterator[Finding]:
    # Zarr core 3.1 has no implicit groups: a folder without a zarr.json is no node, and readers find no nodes below it.
    hidden: dict[str, tuple[str, int]] = {}
    below: list[tuple[str, str]] = []
    for path, node in nodes.items():
        for above in reversed([*paths_above(path)]):
            found = nodes.get(above)
            if found is None:
                first, count = hidden.get(above, (path, 0))
                hidden[above] = first, count + 1
            elif found.node_type == "array":
                below.append((node.key, above))
                break

    def missing(item: tuple[str, tuple[str, int]]) -> Finding:
        above, (first, count) = item
        more = f" and {count - 1:,} more below {above!r}" if count > 1 else ""
        message = f"{above}/{METADATA} is missing, so readers cannot find the node {first!r}{more}"
        hint = f"Write the group's {METADATA}; `ozx repack` writes missing groups."
        return make_finding("rfc9/one-hierarchy", message, entry=f"{first}/{METADATA}", hint=hint)

    yield from each("rfc9/one-hierarchy", list(hidden.items()), missing)

    def misplaced(item: tuple[str, str]) -> Finding:
        key, above = item
        message = f"{key} lies below the array {above!r}; only chunks may be below an array"
        hint = "Move the node out of the array's folder."
        return make_finding("rfc9/one-hierarchy", message, entry=key, hint=hint)

    yield from each("rfc9/one-hierarchy", below, misplaced)


def _check_versions(root: NodeFacts, nodes: _Nodes) -> Iterator[Finding]:
    # OME-Zarr 0.5, "The version of OME-Zarr metadata": one hierarchy has one version.
    if not isinstance(root.version, str):
        return
    others = [node for node in nodes.values() if node.version is not None and node.version != root.version]
    yield from each(
        "rfc9/one-hierarchy",
        others,
        lambda node: make_finding(
            "rfc9/one-hierarchy",
            f"{node.key}: ome.version is {brief(node.version)}, but the root has {brief(root.version)}",
            entry=node.key,
            pointer="/attributes/ome/version",
            hint="Write all metadata in one version.",
        ),
    )
