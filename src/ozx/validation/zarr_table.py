"""The rows of the table for the metadata documents of Zarr."""

from __future__ import annotations

from ozx.validation.rule import Rule

__all__ = ["ZARR_RULES"]

_CORE, _CORE_REVISION = "Zarr core", "3.1 (2026-07-23)"
_JSON, _JSON_REVISION = "RFC 8259 (JSON)", "2017-12"
_CODECS, _CODECS_REVISION = "Zarr codecs: blosc, bytes, crc32c, gzip, transpose 1.0; zstd", "2026-09"
_SHARDING, _SHARDING_REVISION = "Zarr sharding codec", "1.0"
_V2, _V2_REVISION = "Zarr storage specification version 2", "2"

_MEND = "Repair the document in the hierarchy that was packed, and pack that anew."

ZARR_RULES = (
    Rule(
        id="zarr/json",
        severity="error",
        title="A metadata document cannot be read as a JSON object",
        clause="Metadata documents: the `zarr.json` of a node is a JSON object in UTF-8.",
        document=_CORE,
        revision=_CORE_REVISION,
        meaning="The node, and all below it, cannot be opened.",
        repair=_MEND,
    ),
    Rule(
        id="zarr/json-names",
        severity="error",
        title="A name stands twice in one object",
        clause="The names within an object should be unique; which value counts otherwise is left to the reader.",
        document=_JSON,
        revision=_JSON_REVISION,
        meaning="Most readers take the last value, some the first, some refuse the document: they differ.",
        repair=_MEND,
    ),
    Rule(
        id="zarr/json-numbers",
        severity="error",
        title="Numbers that JSON does not have",
        clause="NaN and infinities are not permitted as numbers. A number beyond the range of a double, which "
        "programs read differently, is a warning.",
        document=_JSON,
        revision=_JSON_REVISION,
        meaning="Python reads and writes NaN as a bare word; other readers refuse the whole document.",
        repair="Write NaN and infinities as strings, or leave them out.",
    ),
    Rule(
        id="zarr/json-text",
        severity="warning",
        title="A string holds half of a character",
        clause="Strings are Unicode; half of a surrogate pair is no character, and programs treat it differently.",
        document=_JSON,
        revision=_JSON_REVISION,
        meaning="The string cannot be written as UTF-8; programs replace it, drop it or fail.",
        repair=_MEND,
    ),
    Rule(
        id="zarr/zarr-format",
        severity="error",
        title="zarr_format is not 3",
        clause="`zarr_format` of every array and group has to be the integer 3.",
        document=_CORE,
        revision=_CORE_REVISION,
        meaning="Readers take it for another format, or refuse the node.",
        repair=_MEND,
    ),
    Rule(
        id="zarr/node-type",
        severity="error",
        title="A node is neither array nor group",
        clause="`node_type` has to be `array` or `group`.",
        document=_CORE,
        revision=_CORE_REVISION,
        meaning="Readers cannot tell what the node is, and refuse it.",
        repair=_MEND,
    ),
    Rule(
        id="zarr/missing-field",
        severity="error",
        title="A field that every array has is missing",
        clause="An array's document has to have `shape`, `data_type`, `chunk_grid`, `chunk_key_encoding`, "
        "`fill_value` and `codecs`.",
        document=_CORE,
        revision=_CORE_REVISION,
        meaning="The array cannot be opened.",
        repair=_MEND,
    ),
    Rule(
        id="zarr/unknown-field",
        severity="error",
        title="A field is not known",
        clause="Fields that the specification does not define make a reader fail, unless they are objects that say "
        '`"must_understand": false`.',
        document=_CORE,
        revision=_CORE_REVISION,
        meaning="Readers refuse the node.",
        repair='Move what stands there into the attributes, or add `"must_understand": false` where it may be ignored.',
    ),
    Rule(
        id="zarr/attributes",
        severity="error",
        title="The attributes are no object",
        clause="`attributes` has to be an object.",
        document=_CORE,
        revision=_CORE_REVISION,
        meaning="Readers refuse the node.",
        repair=_MEND,
    ),
    Rule(
        id="zarr/node-name",
        severity="error",
        title="A node has a name that none may have",
        clause="A node's name must not be empty, hold `/`, be made of periods only, or begin with `__`. Since "
        "2026-07 it must not be `zarr.json` either, which is a warning.",
        document=_CORE,
        revision=_CORE_REVISION,
        meaning="Stores and readers take such a name for something else, and do not find the node.",
        repair="Rename the node, and all that refers to it.",
    ),
    Rule(
        id="zarr/consolidated-metadata",
        severity="error",
        title="Consolidated metadata are no object",
        clause="`consolidated_metadata` of a group is no part of the core, but of zarr-python, and allowed as an "
        "object that may be ignored. Early versions wrote null, which is a warning.",
        document=_CORE,
        revision=_CORE_REVISION,
        meaning="Readers that look at them fail to open the group.",
        repair="Remove the field: it repeats what the `zarr.json` below say. `ozx repack` writes it anew where it is "
        "there.",
    ),
    Rule(
        id="zarr/stale-copies",
        severity="warning",
        title="Consolidated metadata do not say what the nodes do",
        clause="`consolidated_metadata` of the root holds copies of the documents of all nodes. It is no part of the "
        "core, but of zarr-python, which reads the copies instead of the documents.",
        document=_CORE,
        revision=_CORE_REVISION,
        meaning="A program changed nodes, and not the copies: zarr-python sees what was there before, other readers "
        "what is there now.",
        repair="`ozx repack FILE OUT.ozx` writes the copies anew; `zarr.consolidate_metadata` does, too.",
    ),
    Rule(
        id="zarr/shape",
        severity="error",
        title="The shape is no list of lengths",
        clause="`shape` has to be an array of integers, the length of each dimension. ozx, as its readers, takes no "
        "length beyond 2**63 - 1.",
        document=_CORE,
        revision=_CORE_REVISION,
        meaning="The array cannot be opened.",
        repair=_MEND,
    ),
    Rule(
        id="zarr/data-type",
        severity="error",
        title="The data type is not written as it has to be",
        clause="A core data type has to be given by its name, a string; raw types are `r` and a number of bits that "
        "is a multiple of 8.",
        document=_CORE,
        revision=_CORE_REVISION,
        meaning="Readers do not know the data type, and refuse the array.",
        repair=_MEND,
    ),
    Rule(
        id="zarr/chunk-grid",
        severity="error",
        title="The chunk grid does not fit the array",
        clause="A regular grid has a `chunk_shape`, an array of integers, one for each dimension of the array, none "
        "of them zero where the array has a length. Since 2026-07 none may be zero at all, which is a "
        "warning.",
        document=_CORE,
        revision=_CORE_REVISION,
        meaning="Readers cannot tell which pixels a chunk holds.",
        repair=_MEND,
    ),
    Rule(
        id="zarr/chunk-key-encoding",
        severity="error",
        title="The chunk key encoding has no such separator",
        clause="The separator of `default` and `v2` has to be `/` or `.`.",
        document=_CORE,
        revision=_CORE_REVISION,
        meaning="Readers look for chunks under other keys.",
        repair=_MEND,
    ),
    Rule(
        id="zarr/fill-value",
        severity="error",
        title="The fill value does not fit the data type",
        clause="The fill value has to be one of the data type: true or false, an integer in range without fraction "
        "or exponent, a number, `Infinity`, `-Infinity`, `NaN` or hexadecimal digits, two of these for "
        "complex numbers, an array of bytes for raw types.",
        document=_CORE,
        revision=_CORE_REVISION,
        meaning="Chunks that are not there get other pixels in different readers, or the array cannot be opened.",
        repair=_MEND,
    ),
    Rule(
        id="zarr/dimension-names",
        severity="error",
        title="The dimension names do not fit the shape",
        clause="`dimension_names` has to be an array of strings or nulls, as long as the shape.",
        document=_CORE,
        revision=_CORE_REVISION,
        meaning="The array cannot be opened.",
        repair=_MEND,
    ),
    Rule(
        id="zarr/codecs",
        severity="error",
        title="There are no codecs",
        clause="`codecs` has to be an array with at least an array -> bytes codec in it; so have those of a shard.",
        document=_CORE,
        revision=_CORE_REVISION,
        meaning="The array cannot be opened.",
        repair=_MEND,
    ),
    Rule(
        id="zarr/codec-order",
        severity="error",
        title="The codecs do not follow each other",
        clause="A chain of codecs has any number of array -> array codecs, then exactly one array -> bytes codec, "
        "then any number of bytes -> bytes codecs.",
        document=_CORE,
        revision=_CORE_REVISION,
        meaning="What one codec gives is not what the next one takes.",
        repair=_MEND,
    ),
    Rule(
        id="zarr/codec-configuration",
        severity="error",
        title="A codec lacks a setting, or has a wrong one",
        clause="Each codec's own document says which settings it takes: `endian` of bytes where items have several "
        "bytes, a permutation of the dimensions for transpose, levels in range for gzip, zstd and blosc, and "
        "what a shard is made of.",
        document=_CODECS,
        revision=_CODECS_REVISION,
        meaning="Readers refuse the array, or guess.",
        repair=_MEND,
    ),
    Rule(
        id="zarr/sharding",
        severity="error",
        title="A shard is not made of whole inner chunks",
        clause="Inner chunks have to have as many dimensions as the shard and divide it; the codecs of the index "
        "have to be of fixed size.",
        document=_SHARDING,
        revision=_SHARDING_REVISION,
        meaning="Readers cannot find the index of a shard, or its chunks.",
        repair=_MEND,
    ),
    Rule(
        id="zarr/reader-refuses",
        severity="warning",
        title="Legal, but some programs refuse it",
        clause="Legal in Zarr core 3.1: short-hand names, `must_understand`, members and settings that are not "
        "known, fields that may be ignored, raw data types, codecs after a shard. zarr-python 3.1.6 or "
        "tensorstore 0.1.86, as the finding says, do not read it.",
        document=_CORE,
        revision=_CORE_REVISION,
        meaning="Whoever opens the file with one of these programs, or with what is built on them, gets an error.",
        repair="`ozx.open` reads it; write full objects, without what says nothing, for others.",
    ),
    Rule(
        id="zarr/v2-metadata",
        severity="error",
        title="A document of Zarr v2 is not what it has to be",
        clause="`.zarray` has to have `zarr_format` 2, `shape`, `chunks`, `dtype`, `compressor`, `fill_value`, "
        "`order` and `filters`, each of its type.",
        document=_V2,
        revision=_V2_REVISION,
        meaning="The array cannot be opened.",
        repair=_MEND,
    ),
)
