"""Read a CZI file wholly with openreadout, then write it with ozx: ``library_import.py IMAGE.czi OUT.ozx``."""

from __future__ import annotations

import sys

import numpy as np
import openreadout

import ozx


def main() -> None:
    source, out = sys.argv[1:]
    with openreadout.File(source) as file:
        image = file.images[0]
        shape = tuple(int(image[f"size_{axis}"]) for axis in "tczyx")
        pixels = np.empty(shape, file.dtype())
        for t, c, z in np.ndindex(*shape[:3]):
            pixels[t, c, z] = file.read_plane(image=0, t=t, c=c, z=z)
    ozx.write_image(out, pixels, axes="tczyx", force=True, sync=False)


if __name__ == "__main__":
    main()
