"""Decompress into a buffer of exactly the expected decoded length."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ozx.flow.decoding.bounded import OversizeError, check_blosc_header, decompress


def decompress_into(config: dict[str, Any], data: memoryview, out: NDArray[np.uint8]) -> None:
    """Fill `out` with the decoded data; write nothing beyond its end."""
    import imagecodecs  # noqa: PLC0415 (15 ms)

    codecs: Any = imagecodecs  # its type hints omit arrays and views
    name = config["id"]
    if name == "zstd" and len(data):
        try:
            length = codecs.zstd_decode(data, out=out).size
        except RuntimeError as error:
            if "too small" in str(error):
                raise OversizeError(f"expected {out.size:,} bytes; the data decode to more") from error
            raise ValueError(f"damaged zstd data: {error}") from error
    elif name == "blosc":
        try:
            check_blosc_header(data, out.size)
            length = codecs.blosc_decode(data, out=out, numthreads=1).size
        except (RuntimeError, EOFError) as error:
            raise ValueError(f"damaged blosc data: {error}") from error
    else:
        found = decompress(config, data, out.size)
        length = len(found)
        out[:length] = np.frombuffer(found, np.uint8)
    if length != out.size:
        raise ValueError(f"expected {out.size:,} bytes; the data decode to {length:,}")
