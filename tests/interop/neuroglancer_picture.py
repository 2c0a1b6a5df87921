"""Show an image in neuroglancer: `neuroglancer_picture.py URL OUT.png`.

Prints the address that a browser has to open; writes the picture when all is drawn, a pixel of the screen for a pixel
of the image and the position in the middle, red the low and green the high byte of a value; prints the state.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import neuroglancer


def main() -> None:
    source, out = sys.argv[1:]
    neuroglancer.set_server_bind_address("127.0.0.1")
    viewer = neuroglancer.Viewer()
    with viewer.txn() as state:
        color = "vec3(mod(value, 256.0), floor(value / 256.0), 0.0) / 255.0"
        shader = f"void main() {{ float value = float(toRaw(getDataValue())); emitRGB({color}); }}"
        state.layers["image"] = neuroglancer.ImageLayer(source=source, shader=shader)
        state.layout = "xy"
        state.show_axis_lines = state.show_scale_bar = state.show_default_annotations = False
    print(viewer.get_viewer_url(), flush=True)
    while viewer.state.position is None:  # the image is being opened; then its middle becomes the position
        viewer.screenshot(size=(512, 512))
    with viewer.txn() as state:
        state.display_dimensions = ["x", "y"]
        state.position = [int(place) + 0.5 for place in state.position]  # a centre of a pixel, not its corner
    picture = viewer.screenshot(size=(512, 512)).screenshot
    Path(out).write_bytes(picture.image)
    print(json.dumps(viewer.state.to_json()))


if __name__ == "__main__":
    main()
