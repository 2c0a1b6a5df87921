"""The rows of the table for the chunks of arrays: level data."""

from __future__ import annotations

from ozx.validation.rule import Rule

__all__ = ["DATA_RULES"]

_CORE, _CORE_REVISION = "Zarr core", "3.1 (2026-07-23)"

_MEND = "Copy or download the file again, or write the array anew; `ozx recover` keeps what is sound."

DATA_RULES = (
    Rule(
        id="zarr/chunk-key",
        severity="warning",
        title="A chunk is outside of its array's grid",
        clause="The chunk key encoding makes a key of each place in the chunk grid. Where an array has shrunk, chunks "
        "outside of its grid may be left behind, which is a warning; where no chunk of an array belongs to its grid, "
        "that is an error.",
        document=_CORE,
        revision=_CORE_REVISION,
        meaning="No reader finds these chunks: they take room, or the array reads as if it were empty.",
        repair="Remove them, or correct shape or chunk key encoding in the array's `zarr.json`.",
    ),
    Rule(
        id="zarr/shard-index",
        severity="error",
        title="The index of a shard is damaged",
        clause="A shard's index has a place for every inner chunk: offset and length within the shard, and a CRC-32C "
        "where its codecs say so. ozx asks, too, that chunks do not share some of their bytes.",
        document="Zarr sharding codec",
        revision="1.0",
        meaning="Which chunks are where cannot be told: nothing of the shard can be read.",
        repair=_MEND,
    ),
    Rule(
        id="zarr/chunk-data",
        severity="error",
        title="A chunk cannot be decoded",
        clause="Decoding procedure: the array's codecs, in reverse order, turn a stored chunk into an array of the "
        "chunk's shape and data type. ozx stops where a chunk decodes to more than that, or claims to; texts of a "
        "chunk may take 64 MiB and 256 bytes each.",
        document=_CORE,
        revision=_CORE_REVISION,
        meaning="The pixels of the chunk are lost, belong to another array, or would fill the memory of a reader.",
        repair=_MEND,
    ),
    Rule(
        id="zarr/not-decoded",
        severity="note",
        title="Chunks were not looked at",
        clause="Nothing is demanded. ozx decodes chunks with zarr-python, of at most 2 GiB each; where that lacks a "
        "codec or a data type, or the array's metadata do not say how its chunks are laid out, they are not looked at.",
        document="ozx",
        revision="0.1",
        meaning="Whether the chunks are sound is not known.",
        repair="Install the package that has the codec, or repair the metadata, and validate again.",
    ),
)
