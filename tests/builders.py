"""Archives built from their records, for tests: those that ozx makes its cases of (`ozx rules --cases`)."""

from ozx.validation.cases.archive_builder import (
    COMMENT,
    DESCRIPTOR,
    ENCRYPTED,
    PADDING_FIELD,
    TIME_FIELD,
    UTF8,
    ArchiveBuilder,
    BuiltEntry,
    array,
    group,
    write_tree,
)

__all__ = [
    "COMMENT",
    "DESCRIPTOR",
    "ENCRYPTED",
    "PADDING_FIELD",
    "TIME_FIELD",
    "UTF8",
    "ArchiveBuilder",
    "BuiltEntry",
    "array",
    "group",
    "write_tree",
]
