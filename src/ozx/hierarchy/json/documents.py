"""Metadata documents: parsing from JSON bytes, and writing."""

from __future__ import annotations

import json
from typing import Any

from ozx.errors import FormatError
from ozx.hierarchy.json.limits import check_document

Document = dict[str, Any]

_DECODER = json.JSONDecoder()
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def parse_document(data: bytes, key: str, decoder: json.JSONDecoder = _DECODER) -> Document:
    """Return the JSON object parsed from the value of the metadata key `key`.

    `ozx.hierarchy.json.strict` has a `decoder` that reports what Python accepts silently.

    `FormatError`: The value is too large, not UTF-8, not JSON, or no object (``zarr/json``). Zarr core 3.1, "Metadata
    documents".
    """
    if data.startswith(_BYTE_ORDER_MARK):
        raise FormatError(f"{key}: expected JSON; it begins with a byte order mark", rule="zarr/json")
    check_document(data, key)
    try:
        document = decoder.decode(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise FormatError(f"{key}: expected JSON in UTF-8; byte {error.start} is not UTF-8", rule="zarr/json") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise FormatError(f"{key}: expected JSON; {error.msg} ({where})", rule="zarr/json") from None
    except (RecursionError, ValueError) as error:  # nested too deep; a number of too many digits
        message = f"{key}: expected JSON without deep nesting or very long numbers; {error}"
        raise FormatError(message, rule="zarr/json") from None
    if not isinstance(document, dict):
        raise FormatError(f"{key}: expected a JSON object; found {type(document).__name__}", rule="zarr/json")
    return document


def dump_document(document: Document) -> bytes:
    r"""Return a new metadata document as JSON bytes in the layout of zarr-python: ASCII, two spaces for each level."""
    try:
        return json.dumps(document, indent=2, allow_nan=False).encode("ascii")
    except RecursionError as error:
        raise FormatError(f"expected metadata of limited depth; {error}", rule="zarr/json") from None
    except ValueError as error:  # NaN, Infinity, or a number that Python reads as Infinity: 1e400
        raise FormatError(
            f"expected numbers that JSON can represent; {error}",
            rule="zarr/json",
            hint='Write these numbers as text, "NaN" or "Infinity", or omit them.',
        ) from None
