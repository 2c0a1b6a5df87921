"""Describe errors of zarr-python: arrays that it cannot open or decode, and missing codecs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ozx.errors import FormatError, OzxError, UnsupportedError

# Optional dependencies of numcodecs; the packages of other codecs are unknown.
_PACKAGES = {"zfpy": "zfpy", "pcodec": "pcodec", "msgpack2": "msgpack", "crc32c": "crc32c"}
# The first name in quotes; newer versions of zarr-python add advice after it.
_NAMED = re.compile(r"['\"`]([\w.+-]+)['\"`]")


# The errors that zarr raises for bad metadata; zarr's own error classes derive from the first two.
_ZARR_ERRORS = (ValueError, TypeError, LookupError, NotImplementedError, AttributeError, RuntimeError, ArithmeticError)


@contextmanager
def refused_by_zarr(where: str) -> Iterator[None]:
    """Convert errors of zarr about the metadata of node `where` to `FormatError`."""
    try:
        yield
    except OzxError:
        raise
    except _ZARR_ERRORS as error:
        missing = missing_codec(error, where)
        raise missing or FormatError(
            f"{where}: zarr cannot open this node: {words_of(error)}",
            hint="Run ozx validate to list the faults.",
        ) from error


def missing_codec(error: BaseException, where: str) -> UnsupportedError | None:
    """Return the error for a codec that is not installed; None if `error` has another cause."""
    found: BaseException | None = error
    while found is not None and type(found).__name__ != "UnknownCodecError":
        found = found.__cause__
    if found is None:
        return None
    named = _NAMED.search(str(found))
    return _not_installed(named[1] if named else "named in its metadata", where)


def check_codecs_installed(metadata: Any, where: str) -> None:
    """Check that all codecs of an open array are installed, because zarr-python fails only at the first chunk."""
    from numcodecs import registry  # noqa: PLC0415 (loads zarr's codecs)

    for name in _wrapped_codecs(getattr(metadata, "codecs", ())):
        if name not in registry.codec_registry and name not in registry.entries:
            raise _not_installed(name, where)


def _wrapped_codecs(codecs: Any) -> Iterator[str]:
    """Yield the names of the numcodecs codecs that zarr-python wraps, including codecs inside shards."""
    for codec in codecs:
        wrapped = getattr(codec, "codec_config", None)
        if isinstance(wrapped, dict) and isinstance(wrapped.get("id"), str):
            yield wrapped["id"]
        yield from _wrapped_codecs(getattr(codec, "codecs", ()))


def words_of(error: Exception) -> str:
    """Return the message of a zarr-python error as one line.

    Python raises a `TypeError` or the like for an unexpected value: the text of such an error does not describe the
    file.
    """
    if isinstance(error, TypeError | AttributeError | LookupError | AssertionError) or not str(error):
        return f"a value of the wrong kind ({type(error).__name__})"
    return str(error).partition("\n")[0]


def _not_installed(name: str, where: str) -> UnsupportedError:
    package = _PACKAGES.get(name)
    return UnsupportedError(
        f"{where}: its chunks need the codec {name}, which is not installed",
        rule="zarr/not-decoded",
        hint=f"Install it: pip install {package}." if package else "Install the package that provides this codec.",
    )
