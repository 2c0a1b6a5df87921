"""The codec of the chunks of new arrays."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import imagecodecs
import numpy as np

from ozx.codecs.chunk_codecs import BLOSC_SHUFFLES, ChunkCodec, compile_codecs, encode_gzip
from ozx.errors import UnsupportedError
from ozx.hierarchy.json.reading import Document
from ozx.hierarchy.zarr.layout import parse_layout

# Blosc's default at level 1 is 32 KiB, which is a fifth slower and saves 1 to 4 % of the size.
_FAST_BLOCK = 128 << 10


def new_chunk_codec(document: Document) -> ChunkCodec:
    """Return the codec of the chunks of an array whose layout `lay_out` chose; can be pickled."""
    layout = parse_layout(document, "")
    codec = compile_codecs(layout.codecs, layout.chunks, np.dtype(document["data_type"]))
    config = (codec.compressor if isinstance(codec, ChunkCodec) else None) or {"id": None}
    if not isinstance(codec, ChunkCodec) or config["id"] not in (None, "blosc", "gzip", "zstd"):
        raise UnsupportedError(f"expected blosc, zstd or gzip as the only compressor; found {layout.codecs!r}")
    if config["id"] == "gzip":
        return replace(codec, encoder=partial(encode_gzip, level=config["level"]))
    return replace(codec, encoder=partial(_encode_blosc, config, codec.dtype)) if config["id"] == "blosc" else codec


def _encode_blosc(settings: dict[str, Any], dtype: np.dtype[Any], data: memoryview) -> Any:
    codecs: Any = imagecodecs  # its type hints omit arrays
    # imagecodecs lets blosc shuffle items of the array's item size, whatever `typesize` is. One thread per chunk: the
    # order of the blocks, and so the bytes, would depend on several.
    return codecs.blosc_encode(
        np.frombuffer(data, dtype),
        level=settings["clevel"],
        compressor=settings["cname"],
        shuffle=BLOSC_SHUFFLES[settings["shuffle"]],
        blocksize=settings["blocksize"] or (_FAST_BLOCK if settings["clevel"] == 1 else 0),
        numthreads=1,
    )
