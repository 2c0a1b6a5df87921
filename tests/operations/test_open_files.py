"""Every operation that replaces its output, where open files cannot be renamed, replaced or removed (Windows)."""

import os
import shutil

import numpy as np
import pytest
import zarr
from hierarchies import FIXTURES
from open_files import closed_files_only  # noqa: F401
from tiffs import pixels, write

import ozx

pytestmark = pytest.mark.usefixtures("closed_files_only")


@pytest.fixture
def file(tmp_path):
    path = str(tmp_path / "a.ozx")
    ozx.pack(FIXTURES / "image.ome.zarr", path)
    return path


def append(path, shape):
    with ozx.OzxStore(path, mode="a") as store:
        zarr.open_group(store, mode="a").create_array("more", shape=shape, dtype="uint8", chunks=shape)[...] = 7


def replace_by_stream(path):
    with ozx.stream(path, axes="tyx", shape=(None, 8, 8), dtype="uint8", force=True) as stream:
        stream.append(np.zeros((8, 8), np.uint8))


def import_image(path):
    tiff = f"{path}.tif"
    write(tiff, pixels((16, 16)))
    ozx.import_image(tiff, path, force=True)


def recover(path):
    broken = f"{path}.broken"
    shutil.copy(path, broken)
    os.truncate(broken, os.path.getsize(broken) - 30)
    ozx.recover(broken, path, force=True)


WAYS = {
    "edit": lambda path: ozx.edit(path, pixel_size=0.5),
    "append a small array": lambda path: append(path, (4,)),
    "append a large array": lambda path: append(path, (300, 900)),
    "repack onto itself": lambda path: ozx.repack(path, path, force=True),
    "repack, verified": lambda path: ozx.repack(path, path, force=True, verify=True),
    "pack": lambda path: ozx.pack(FIXTURES / "image.ome.zarr", path, force=True),
    "pack, verified": lambda path: ozx.pack(FIXTURES / "image.ome.zarr", path, force=True, verify=True),
    "write": lambda path: ozx.write_image(path, np.zeros((8, 8), np.uint8), axes="yx", force=True),
    "import": import_image,
    "stream": replace_by_stream,
    "recover": recover,
    "extract": lambda path: [ozx.extract(path, f"{path}.part.ozx", levels=1, force=True) for _ in range(2)],
    "export": lambda path: [ozx.export(path, f"{path}.ome.tif", force=True) for _ in range(2)],
    "thumbnail": lambda path: [ozx.thumbnail(path, f"{path}.png", force=True) for _ in range(2)],
    "unpack": lambda path: [ozx.unpack(path, f"{path}.ome.zarr", force=True) for _ in range(2)],
    "checksum": lambda path: ozx.pack(FIXTURES / "image.ome.zarr", path, force=True, checksum="sha256", manifest=True),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_file_is_replaced_after_it_is_closed(file, way):
    before = os.stat(file)
    WAYS[way](file)
    if way not in ("extract", "export", "thumbnail", "unpack"):
        assert not os.path.samestat(os.stat(file), before)
    assert ozx.validate(file).valid
    names = os.listdir(os.path.dirname(file))
    assert not [name for name in names if "partial" in name or name.startswith(".")], names
