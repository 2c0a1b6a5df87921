"""What every writer of ozx writes breaks no MUST of RFC-9's revision and misses no SHOULD, by a reading of its own."""

import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest
import tifffile
import zarr
from cases.archive_builder import group
from hierarchies import FIXTURES, HIERARCHIES
from rfc9_revision import breaches, missed
from stores import SEED, pattern, put, run

import ozx


def assert_conforms(path: Path) -> None:
    assert breaches(path) == set()
    assert missed(path) == set()
    for profile in ("rfc9", "strict"):
        findings = {
            finding.id for finding in ozx.validate(path, profile=profile).findings if finding.severity != "note"
        }
        assert findings <= {"rfc9/sharding", "rfc9/name"}


@pytest.mark.parametrize("name", HIERARCHIES)
def test_every_verb(tmp_path: Path, name: str) -> None:
    source, packed = FIXTURES / f"{name}.ome.zarr", tmp_path / "a.ozx"
    ozx.pack(source, packed)
    assert_conforms(packed)
    ozx.repack(packed, tmp_path / "b.ozx", shards="auto")
    assert_conforms(tmp_path / "b.ozx")
    ozx.extract(packed, tmp_path / "c.ozx", levels="-1")
    assert_conforms(tmp_path / "c.ozx")
    ozx.edit(packed, pixel_size={"y": 0.5, "x": 0.5})
    assert_conforms(packed)
    packed.write_bytes(packed.read_bytes()[:-50])
    ozx.recover(packed, tmp_path / "d.ozx")
    assert_conforms(tmp_path / "d.ozx")


def test_legacy_hierarchies_become_conforming_files(tmp_path: Path) -> None:
    ozx.repack(FIXTURES / "legacy.ome.zarr", tmp_path / "a.ozx")
    assert_conforms(tmp_path / "a.ozx")


def test_new_images(tmp_path: Path) -> None:
    pixels = np.random.default_rng(1).integers(0, 99, (3, 600, 700)).astype("u2")
    ozx.write_image(tmp_path / "a.ozx", pixels, axes="zyx")
    assert_conforms(tmp_path / "a.ozx")
    tifffile.imwrite(tmp_path / "b.tif", pixels, photometric="minisblack")
    ozx.import_image(tmp_path / "b.tif", tmp_path / "b.ozx")
    assert_conforms(tmp_path / "b.ozx")


LITTLE, MUCH = {"note": "x"}, {"note": "x" * 300_000}


@pytest.mark.parametrize("mode", ["w", *(pytest.param(mode, marks=pytest.mark.ci) for mode in "xa")])
@pytest.mark.parametrize("size", [1_000, 9_000_000], ids=["small", "large"])
@pytest.mark.parametrize("late", [None, LITTLE, MUCH], ids=["known", "little-late", "much-late"])
@pytest.mark.parametrize("metadata", ["first", "last"])
@pytest.mark.filterwarnings("ignore::ozx.errors.RewrittenWarning")
def test_every_way_of_closing_a_store(
    tmp_path: Path, mode: str, size: int, late: dict[str, str] | None, metadata: str
) -> None:
    path = tmp_path / "a.ozx"
    if mode == "a":
        ozx.pack(FIXTURES / "image.ome.zarr", path)
    values = {f"0/c/{n}/0": pattern(n, size // (n + 1)) for n in range(6)}
    with ozx.OzxStore(path, mode, metadata=metadata, sync=False) as store:
        for key, value in ({} if mode == "a" else SEED).items():
            put(store, key, value)
        for key, value in values.items():
            put(store, key, value)
        run(store.delete("0/c/1/0"))
        put(store, "0/c/3/0", values["0/c/3/0"][:-700])
        if late is not None:
            put(store, "zarr.json", group(attributes={"ome": {"version": "0.5"}, **late}))
    assert breaches(path) == set()
    # R2 recommends the order of the file, too; the revision that of the directory.
    order = set() if metadata == "first" else {"3, root first", "3, metadata first"}
    assert missed(path) <= order
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        assert archive.read("0/c/5/0") == values["0/c/5/0"]
        names = archive.namelist()
    assert names == sorted(names, key=lambda name: not name.endswith("zarr.json"))


def test_pixels_by_zarr_and_reopened(tmp_path: Path) -> None:
    path = tmp_path / "a.ozx"
    with ozx.OzxStore(path, "w", sync=False) as store:
        root = zarr.create_group(store, attributes={"ome": {"version": "0.5"}})
        root.create_array("0", shape=(64, 512, 512), chunks=(1, 512, 512), dtype="u2")[:] = 7
    assert_conforms(path)
    shutil.copy(path, tmp_path / "b.ozx")
    with ozx.OzxStore(tmp_path / "b.ozx", "a", sync=False) as store:
        zarr.open_group(store)["0"][3:9, :200] = 9
    assert_conforms(tmp_path / "b.ozx")
