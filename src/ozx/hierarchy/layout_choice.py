"""How the arrays of a hierarchy are to be laid out, and the documents that they get."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ozx.hierarchy.documents import Document
from ozx.hierarchy.json_values import as_object
from ozx.hierarchy.layout import parse_layout, relayout_document
from ozx.hierarchy.nodes import join_path
from ozx.hierarchy.normalisation import Understands
from ozx.hierarchy.ome import parse_ome
from ozx.hierarchy.recoding import (
    CodecChoice,
    choose_chunks,
    parse_chunk_lengths,
    parse_codec_choice,
    recoded_document,
)
from ozx.hierarchy.shard_choice import ShardArray, ShardPolicy, choose_shards, parse_shard_policy
from ozx.hierarchy.understanding import is_registered

__all__ = ["Axes", "LayoutChoice", "axes_of_images"]

Lengths = tuple[int, ...]
Axes = tuple[tuple[str | None, str | None], ...]


@dataclass(frozen=True, slots=True)
class LayoutChoice:
    """How the arrays of a hierarchy are to be laid out.

    Attributes
    ----------
    shards
        How large shards become.
    chunks
        Other lengths of chunks by axis, for which everything is decoded; None to leave chunks as they are cut.
    codec
        Another compressor, for which everything is decoded; None to leave chunks as they are encoded.
    keep_numcodecs
        Whether chunks of Zarr v2 whose codecs only zarr-python reads stay as they are.
    """

    shards: ShardPolicy = field(default_factory=lambda: ShardPolicy("keep"))
    chunks: Mapping[str, int] | None = None
    codec: CodecChoice | None = None
    keep_numcodecs: bool = False

    @classmethod
    def parse(
        cls,
        shards: str | Mapping[str, int] = "keep",
        chunks: str | Mapping[str, int] | None = None,
        codec: str | None = None,
        *,
        keep_numcodecs: bool = False,
    ) -> LayoutChoice:
        """Return what options mean, as they stand on the command line; `UsageError` where they mean nothing."""
        return cls(
            parse_shard_policy(shards),
            None if chunks is None else parse_chunk_lengths(chunks),
            None if codec is None else parse_codec_choice(codec),
            keep_numcodecs,
        )

    @property
    def changes_nothing(self) -> bool:
        """Whether arrays of Zarr v3 stay as they are."""
        return self.shards.kind == "keep" and self.chunks is None and self.codec is None

    def new_documents(
        self, documents: Mapping[str, Document], axes: Mapping[str, Axes], understands: Understands = is_registered
    ) -> dict[str, Document]:
        """Return the ``zarr.json`` of every array as it is to be laid out.

        Parameters
        ----------
        documents
            All arrays of a hierarchy by path.
        axes
            Names and types of axes, where images tell them.
        understands
            See `check_understood`.
        """

        def described(document: Document, path: str) -> ShardArray:
            return ShardArray(parse_layout(document, path, understands), axes.get(path, ()))

        arrays = {path: described(document, path) for path, document in documents.items()}
        if self.chunks is None and self.codec is None:
            chosen = choose_shards(arrays, self.shards)
            return {path: relayout_document(document, chosen[path]) for path, document in documents.items()}
        chunks = {} if self.chunks is None else choose_chunks(arrays, self.chunks)
        recoded = {
            path: recoded_document(document, chunks=chunks.get(path), codec=self.codec)
            for path, document in documents.items()
        }
        if self.shards.kind == "keep":
            chosen = {path: _whole_chunks(arrays[path].layout.shards, recoded[path]) for path in recoded}
        else:
            plain = {path: described(document, path) for path, document in recoded.items()}
            chosen = choose_shards(plain, self.shards)
        return {path: relayout_document(document, chosen[path]) for path, document in recoded.items()}


def axes_of_images(groups: Mapping[str, Document]) -> dict[str, Axes]:
    """Return for the levels of images the names and types of their axes, by path."""
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
    """Return the lengths of shards, longer where they have to be for whole chunks of other lengths."""
    if shards is None:
        return None
    chunks = document["chunk_grid"]["configuration"]["chunk_shape"]
    return tuple(-(-whole // part) * part for whole, part in zip(shards, chunks, strict=True))
