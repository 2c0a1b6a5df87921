"""Choice of new chunk layouts for a hierarchy's arrays, and the new documents of these arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ozx.errors import UnsupportedError, UsageError
from ozx.extensions import ExtensionNode, find_handler, has_method
from ozx.ome.model import parse_ome
from ozx.ome.relayout.codec_choice import (
    CodecChoice,
    choose_chunks,
    needs_transcoding,
    parse_chunk_lengths,
    parse_codec_choice,
    transcoded_document,
)
from ozx.ome.relayout.shard_choice import ShardArray, ShardPolicy, choose_shards, parse_shard_policy
from ozx.zarr.codecs import ChecksumOption, parse_checksum_option, parse_named
from ozx.zarr.extensions import (
    Extension,
    Understands,
    array_extensions,
    is_registered,
    listed_extensions,
)
from ozx.zarr.json_reading import Document, as_object, copy_json
from ozx.zarr.keys import join_path
from ozx.zarr.layout import Lengths, parse_layout, relayout_document

Axes = tuple[tuple[str | None, str | None], ...]

_V2_KEYS = {"name": "v2", "configuration": {"separator": "/"}}


@dataclass(frozen=True, slots=True)
class LayoutChoice:
    """The requested layout of a hierarchy's arrays."""

    shards: ShardPolicy = "keep"
    # New chunk lengths by axis, which require decoding of all chunks; None keeps the present chunks.
    chunks: Mapping[str, int] | None = None
    # Another compressor, which requires decoding of all chunks; None keeps the present compressor.
    codec: CodecChoice | None = None
    # Whether Zarr v2 chunks stay unchanged if only zarr-python reads their codecs.
    keep_numcodecs: bool = False
    # Whether each chunk ends in a checksum; if None, `checksum_option` decides for each array.
    checksums: ChecksumOption | None = None
    # Whether arrays get what Zarr v2 can express: no shards, no checksums, and chunk keys such as ``0/0``.
    is_v2: bool = False

    @classmethod
    def parse(
        cls,
        shards: str | Mapping[str, int] = "keep",
        chunks: str | Mapping[str, int] | None = None,
        codec: str | None = None,
        *,
        keep_numcodecs: bool = False,
        chunk_checksums: str | None = None,
        is_v2: bool = False,
    ) -> LayoutChoice:
        """Parse layout options of the command line; raise `UsageError` if an option is invalid."""
        if is_v2 and (shards not in ("keep", "none") or chunk_checksums not in (None, "drop")):
            hint = "Leave out these options; shards become single chunks."
            raise UsageError("OME-Zarr 0.4 (Zarr v2) has no shards and no checksums of chunks", hint=hint)
        return cls(
            parse_shard_policy("none" if is_v2 else shards),
            None if chunks is None else parse_chunk_lengths(chunks),
            None if codec is None else parse_codec_choice(codec),
            keep_numcodecs,
            parse_checksum_option("drop" if is_v2 else chunk_checksums),
            is_v2,
        )

    @property
    def changes_nothing(self) -> bool:
        """Whether the layout of Zarr v3 arrays stays unchanged."""
        return self.shards == "keep" and not self.decodes and self.checksums in (None, "keep")

    @property
    def decodes(self) -> bool:
        """Whether chunks are decoded, and encoded in another way."""
        return self.chunks is not None or self.codec is not None

    def checksum_option(self, *, come_into_shards: bool) -> ChecksumOption:
        """Return whether chunk checksums are added to an array, kept unchanged, or removed.

        A chunk that is an entry of an archive has that entry's CRC-32. A chunk in a shard has no CRC-32 of its own, so
        that damaged bytes can pass for pixels: chunks that move into shards, or are encoded again for shards, get a
        checksum.
        """
        if self.checksums is not None:
            return self.checksums
        return "add" if come_into_shards else "keep"

    def new_documents(
        self, documents: Mapping[str, Document], axes: Mapping[str, Axes], understands: Understands = is_registered
    ) -> dict[str, Document]:
        """Return the ``zarr.json`` of every array in the new layout, by path."""

        def described(document: Document, path: str) -> ShardArray:
            return ShardArray(parse_layout(document, path, understands), axes.get(path, ()))

        arrays = {path: described(document, path) for path, document in documents.items()}
        if not self.decodes:
            chosen = choose_shards(arrays, self.shards)
            return {
                path: self._relaid(arrays[path], document, document, chosen[path])
                for path, document in documents.items()
            }
        chunks = {} if self.chunks is None else choose_chunks(arrays, self.chunks)
        transcoded = {
            path: transcoded_document(document, chunks=chunks.get(path), codec=self.codec, keeps_order=not self.is_v2)
            for path, document in documents.items()
        }
        if self.shards == "keep":
            chosen = {path: _whole_chunks(arrays[path].layout.shards, transcoded[path]) for path in transcoded}
        else:
            plain = {path: described(document, path) for path, document in transcoded.items()}
            chosen = choose_shards(plain, self.shards)
        return {
            path: self._relaid(arrays[path], documents[path], document, chosen[path])
            for path, document in transcoded.items()
        }

    def _relaid(self, array: ShardArray, old: Document, new: Document, shards: Lengths | None) -> Document:
        are_new = not array.layout.levels or needs_transcoding(old, new)
        option = self.checksum_option(come_into_shards=shards is not None and are_new)
        relaid = relayout_document(new, shards, option)
        return {**relaid, "chunk_key_encoding": _V2_KEYS} if self.is_v2 else relaid


def axes_of_images(groups: Mapping[str, Document]) -> dict[str, Axes]:
    """Return the axis names and types of each image level, by the path of its array."""
    axes = {}
    for path, document in groups.items():
        ome = parse_ome(as_object(document.get("attributes")), 3)
        for multiscale in () if ome is None else ome.multiscales:
            found = tuple((axis.name, axis.type) for axis in multiscale.axes)
            for dataset in multiscale.datasets:
                if dataset.path is not None:
                    axes[join_path(path, dataset.path)] = found
    return axes


def _whole_chunks(shards: Lengths | None, document: Document) -> Lengths | None:
    """Return the shard lengths, rounded up to whole chunks of `document`."""
    if shards is None:
        return None
    chunks = document["chunk_grid"]["configuration"]["chunk_shape"]
    return tuple(-(-whole // part) * part for whole, part in zip(shards, chunks, strict=True))


# Adaptation of extension metadata to a new chunk layout, by the handlers of the extensions.


def understands_relayout(point: str, value: Any) -> bool:
    """Return whether an extension allows ozx to move chunks: the extension is registered, or a handler adapts it.

    Examples
    --------
    >>> understands_relayout("codecs", {"name": "zstd"}), understands_relayout("extensions", "example.unheard-of")
    (True, False)
    """
    named = parse_named(value)
    return is_registered(point, value) or (named is not None and has_method(point, named.name, "relayout"))


def relaid_document(path: str, old: Document, new: Document) -> Document:
    """Return `new` with the extension configurations from the handlers; `new` itself if there are no handlers.

    Handlers of extensions that may be ignored are called, too.
    """
    extensions = array_extensions(new) + listed_extensions(new)
    handled = [found for found in extensions if has_method(found.point, found.name, "relayout")]
    if not handled:
        return new
    relaid: Document = copy_json(new)
    nodes = ExtensionNode(path, old), ExtensionNode(path, new)
    for extension in handled:
        configuration = _call_handler(extension, *nodes)
        if configuration != extension.configuration:
            _set_configuration(relaid, extension, configuration)
    return relaid


def check_group_extensions(group: str, document: Document, path: str, old: Document, new: Document) -> None:
    """Check that the handlers of a group's extensions accept the new chunk layout of one array in the group."""
    for extension in listed_extensions(document):
        if not has_method(extension.point, extension.name, "relayout"):
            continue
        if _call_handler(extension, ExtensionNode(path, old), ExtensionNode(path, new)) != extension.configuration:
            raise UnsupportedError(
                f"{group or 'the root'}: the handler of the extension {extension.name!r} returned another "
                f"configuration for the new chunks of {path!r}"
            )


def _call_handler(extension: Extension, old: ExtensionNode, new: ExtensionNode) -> Any:
    handler = find_handler(extension.point, extension.name)
    return handler.relayout(copy_json(extension.configuration), old, new)


def _set_configuration(document: Document, extension: Extension, configuration: Any) -> None:
    *steps, last = extension.pointer[1:].split("/")
    place: Any = document
    for step in steps:
        place = place[int(step) if isinstance(place, list) else step]
    key: Any = int(last) if isinstance(place, list) else last
    value = place[key] if isinstance(place[key], dict) else {"name": extension.name}
    place[key] = {**value, "configuration": configuration}
