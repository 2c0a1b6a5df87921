"""Decompression of Deflate and Deflate64 (APPNOTE methods 8 and 9), limited to the declared size.

The package ``zipfile-deflate64`` patches the standard library's `zipfile` during its import. This module therefore
loads only the extension module of the package.
"""

from __future__ import annotations

import functools
import importlib.machinery
import importlib.util
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ozx.archive.records import DEFLATE64, DEFLATED, method_name
from ozx.errors import FormatError, OzxError, UnsupportedError
from ozx.extras import needed

_OUTPUT_BLOCK = 1 << 20
_GOES_ON = "there are bytes after the end of the stream"
# No Deflate64 decoder limits its output, so the input is sliced: 18 bits can stand for 65,538 bytes, so that a slice
# of 1 KiB gives 29 MiB at most.
_DEFLATE64_SLICE = 1 << 10


def deflate64_decoder() -> str:
    """Return name and version of the Deflate64 package, such as ``"inflate64 1.0.4"``, or say that there is none."""
    import importlib.metadata  # noqa: PLC0415 (loads zipfile and more, which reading does not need)

    package = "zipfile-deflate64" if zipfile_deflate64() is not None else "inflate64"
    try:
        return f"{package} {importlib.metadata.version(package)}"
    except importlib.metadata.PackageNotFoundError:
        return "no package: the extra deflate64 is not installed"


def iter_inflated(method: int, slices: Iterable[bytes], uncompressed_size: int) -> Iterator[bytes]:
    """Yield the `uncompressed_size` bytes of an entry in blocks of limited size, from `slices` of compressed bytes."""
    if method == DEFLATED:
        blocks = _iter_deflated(slices)
    elif method == DEFLATE64:
        blocks = _iter_deflated64(slices)
    else:
        raise UnsupportedError(
            f"expected a stored, deflated or Deflate64 entry; found {method_name(method)}",
            rule="zip/method",
            hint="Unpack it with the program that wrote it, then run ozx pack on the folder.",
        )
    produced = 0
    try:
        for block in blocks:
            produced += len(block)
            if produced > uncompressed_size:
                break
            yield block
    except OzxError:  # raised while reading the slices
        raise
    except (zlib.error, ValueError) as error:
        # inflate64 and zipfile-deflate64 raise plain ValueError for damaged data.
        raise FormatError(f"the {method_name(method)} data is damaged: {error}", rule="zip/inflate") from None
    if produced != uncompressed_size:
        found = "more" if produced > uncompressed_size else f"{produced:,}"
        raise FormatError(
            f"expected {uncompressed_size:,} bytes after decompression; found {found}; the data is damaged or "
            f"truncated",
            rule="zip/inflate",
        )


def _iter_deflated(slices: Iterable[bytes]) -> Iterator[bytes]:
    decoder = zlib.decompressobj(wbits=-15)
    for data in slices:
        pending = data
        while pending and not decoder.eof:
            yield decoder.decompress(pending, _OUTPUT_BLOCK)
            pending = decoder.unconsumed_tail
        if decoder.eof and (pending or decoder.unused_data):
            raise ValueError(_GOES_ON)
    while not decoder.eof and (block := decoder.decompress(b"", _OUTPUT_BLOCK)):
        yield block
    if not decoder.eof:
        raise ValueError("the end of the stream is missing")


def _iter_deflated64(slices: Iterable[bytes]) -> Iterator[bytes]:
    decoder, decode = _new_deflate64_decoder()
    for data in slices:
        for start in range(0, len(data), _DEFLATE64_SLICE):
            if decoder.eof:  # the result of zipfile-deflate64 after the end is undefined
                return
            yield decode(data[start : start + _DEFLATE64_SLICE])
    if not decoder.eof:
        raise ValueError("the end of the stream is missing")


def _new_deflate64_decoder() -> tuple[Any, Callable[[bytes], bytes]]:
    """Return a new decoder of either package, and its method that decodes."""
    extension = zipfile_deflate64()
    if extension is not None:
        decoder = extension()
        return decoder, decoder.decompress
    with needed("deflate64", "reading a Deflate64 entry"):
        from inflate64 import Inflater  # noqa: PLC0415 (an optional path must not slow every start)
    decoder = Inflater()
    return decoder, decoder.inflate


@functools.cache
def zipfile_deflate64() -> Callable[[], Any] | None:
    """Return the decoder class of the package ``zipfile-deflate64``, or None if it is not installed."""
    # This finds the package but does not import it: the import would patch zipfile.
    package = importlib.util.find_spec("zipfile_deflate64")
    if package is None or package.submodule_search_locations is None:
        return None
    spec = importlib.machinery.PathFinder.find_spec("deflate64", package.submodule_search_locations)
    if spec is None or not isinstance(spec.loader, importlib.machinery.ExtensionFileLoader):
        return None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    decoder: Callable[[], Any] = module.Deflate64
    return decoder
