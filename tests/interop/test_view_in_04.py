"""The view in OME-Zarr 0.4 that ``ozx serve`` gives: programs for Zarr v2 read the pixels and scales of the file."""

import hashlib
import json
import os
import subprocess
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import tensorstore
import zarr
from generated_images import documents, make_image
from hierarchies import FIXTURES, HIERARCHIES

import ozx
from ozx.desktop.viewer.file_server import FileServer
from ozx.desktop.viewer.loopback import LoopbackServer, Request, serving
from ozx.places.byte_source import FileSource
from ozx.zarr.keys import join_path
from ozx.zarr.layout import parse_layout

#: This variable names the interpreter of an environment with zarr-python 2, ome-zarr-py of its time, and zarrita.
VARIABLE = "OZX_ZARR2_PYTHON"
#: As many generated images are tried; 200 by hand, since each is read by five programs.
GENERATED = int(os.environ.get("OZX_IMAGES", "20"))
NUMBERS = [*range(3), *(pytest.param(number, marks=pytest.mark.ci) for number in range(3, GENERATED))]
IMAGES = [*HIERARCHIES, *NUMBERS]


@pytest.fixture
def source(request, tmp_path):
    name = request.param
    return FIXTURES / f"{name}.ome.zarr" if name in HIERARCHIES else make_image(tmp_path, name)


@pytest.fixture
def files(source, tmp_path):
    ozx.pack(source, tmp_path / "a.ozx", sync=False)
    return FileServer([tmp_path / "a.ozx"], form="0.4")


@pytest.fixture
def url(files):
    with serving(LoopbackServer(files.respond)) as server:
        yield f"{server.origin}/a.ome.zarr"


def of_images(param):
    return pytest.mark.parametrize("source", param, indirect=True, ids=str)


def digest(pixels):
    little = np.asarray(pixels).astype(pixels.dtype.newbyteorder("<"))
    return [list(little.shape), little.dtype.str, hashlib.sha256(little.tobytes()).hexdigest()]


def arrays_of(source: Path) -> dict[str, np.ndarray]:
    group = zarr.open_group(source, mode="r", use_consolidated=False)
    return {path: group[path][...] for path, node in documents(source).items() if node["node_type"] == "array"}


@pytest.mark.ci
@of_images([*HIERARCHIES, *range(GENERATED)])
def test_tensorstore_reads_the_pixels(source, url):
    for path, pixels in arrays_of(source).items():
        array = tensorstore.open({"driver": "zarr", "kvstore": f"{url}/{path}/"}, read=True).result()
        np.testing.assert_array_equal(array.read().result(), pixels)


@pytest.mark.ci  # with aiohttp
@of_images([*HIERARCHIES, *range(GENERATED)])
def test_zarr_3_reads_pixels_names_and_all_nodes(source, url):
    group, nodes = zarr.open_group(url, mode="r", zarr_format=2), documents(source)
    assert {path for path, _ in group.members(max_depth=None)} == nodes.keys() - {""}
    for path, pixels in arrays_of(source).items():
        np.testing.assert_array_equal(group[path][...], pixels)
        assert group[path].attrs["_ARRAY_DIMENSIONS"] == nodes[path]["dimension_names"]


@of_images(IMAGES)
def test_a_chunk_costs_its_bytes_and_once_the_index_of_its_shard(source, files):
    for path, node in documents(source).items():
        if node["node_type"] == "group":
            continue
        layout = parse_layout(node, path)
        indexes = sum(16 * int(np.prod(grid)) + 4 for grid, _ in layout.levels)
        # A shard of shards has an index in each of its shards.
        indexes *= int(np.prod(layout.levels[0][0])) if len(layout.levels) > 1 else 1
        for place in list(np.ndindex(layout.grid))[:20]:
            with counted_bytes() as read:
                answer = files.respond(Request("GET", f"/a.ome.zarr/{path}/{'/'.join(map(str, place))}"))
                size = len(b"".join(answer.body)) if answer.status == 200 else 0
            assert sum(read) <= size + 4 + indexes + 512  # its checksum, a local header


@contextmanager
def counted_bytes():
    """Yield the lengths of all reads of files."""
    read: list[int] = []

    def counting(real):
        def call(self, *arguments):
            found = real(self, *arguments)
            read.append(found if isinstance(found, int) else len(found))
            return found

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name in ("read_at", "read_into_at", "read_vectors_at"):
            patch.setattr(FileSource, name, counting(getattr(FileSource, name)))
        yield read


# Programs of the days of Zarr v2.


@pytest.fixture(scope="module")
def ask():
    """Ask the programs of another environment; see ``zarr2_reader.py``."""
    python = os.environ.get(VARIABLE)
    if python is None:
        pytest.skip(f"no environment with zarr-python 2: {VARIABLE} is not set")
    script = Path(__file__).with_name("zarr2_reader.py")
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    with subprocess.Popen(
        [python, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:

        def send(question):
            print(json.dumps(question), file=process.stdin, flush=True)
            found = json.loads(process.stdout.readline())
            assert "error" not in found, found
            return found

        yield send
        process.stdin.close()


@pytest.mark.ci
@of_images([*HIERARCHIES, *range(GENERATED)])
def test_programs_for_zarr_v2_read_pixels_scales_and_names(ask, source, url, tmp_path):
    nodes, arrays = documents(source), {path: digest(pixels) for path, pixels in arrays_of(source).items()}
    # Of labels that name their image "../../", ome-zarr-py at a URL opens the image, then its labels, and so on.
    names_image = any("source" in _ome(node).get("image-label", {}) for node in nodes.values())
    root = ozx.unpack(tmp_path / "a.ozx", ome_version="0.4", sync=False).path if names_image else url
    images = {f"{root}/{path}".rstrip("/"): path for path, node in nodes.items() if _is_image(node)}
    found = ask({"url": url, "arrays": list(arrays), "images": list(images)})
    assert found["zarr"] == found["zarrita"] == arrays
    for location, path in images.items():
        read, ome = found["ome_zarr"][location], _ome(nodes[path])
        (multiscale,) = ome["multiscales"]
        labels = _ome(nodes.get(join_path(path, "labels"), {})).get("labels", [])
        assert read["levels"] == [arrays[join_path(path, level["path"])] for level in multiscale["datasets"]]
        assert read["labels"] == [[arrays[key] for key in arrays if f"labels/{label}/" in key] for label in labels]
        assert read["transformations"] == [level["coordinateTransformations"] for level in multiscale["datasets"]]
        assert read["axes"] == [axis["name"] for axis in multiscale["axes"]]
        assert read["names"] == [channel["label"] for channel in ome.get("omero", {}).get("channels", [])]


def _ome(node):
    return node.get("attributes", {}).get("ome", {})


def _is_image(node):
    return "multiscales" in _ome(node) and "image-label" not in _ome(node)
