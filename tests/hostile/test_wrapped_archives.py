"""Every way to read archives whose counts, offsets and sizes wrapped, as the Finder of macOS writes them."""

import json
import warnings
import zipfile

import numpy as np
import pytest
import tifffile
from cases.archive_builder import ArchiveBuilder, array_document, group
from commands import command
from hierarchies import multiscales
from judges import ARRAY_JUDGES, JUDGES
from servers import serving
from stores import put, take

import ozx

GIB = 1 << 30
SIDE = 257
PIXELS = np.add.outer(np.arange(SIDE), np.arange(SIDE)) % 251
SMALL = np.arange(16, dtype=np.uint8).reshape(4, 4)


def image(*shapes, chunks):
    """Return the documents of an image with levels of these shapes."""
    levels = [str(level) for level in range(len(shapes))]
    images = multiscales("yx", *levels, unit="micrometer", halved="yx", name="cells")
    documents = {"zarr.json": group(attributes={"ome": {"version": "0.5", "multiscales": images}})}
    for level, shape, chunk in zip(levels, shapes, chunks, strict=True):
        array = array_document(shape, chunk, dimension_names=["y", "x"])
        documents[f"{level}/zarr.json"] = json.dumps(array).encode()
    return documents


def count():
    """66,051 entries, one for each pixel."""
    builder = ArchiveBuilder().with_(comment=b"").classic()
    for key, value in image([SIDE, SIDE], chunks=[[1, 1]]).items():
        builder.add(key, value)
    for (y, x), pixel in np.ndenumerate(PIXELS):
        builder.add(f"0/c/{y}/{x}", bytes([pixel]))
    return builder


def finder():
    """The same image as the Finder writes it: a folder, deflated entries, descriptors, and files of macOS."""
    values = {"cells.ome.zarr/": b"", "cells.ome.zarr/.DS_Store": b"\0\0\0\1Bud1"}
    values |= {"__MACOSX/": b"", "__MACOSX/cells.ome.zarr/": b"", "__MACOSX/cells.ome.zarr/._.DS_Store": b"\0\5\x16\7"}
    values |= {f"cells.ome.zarr/{entry.name.decode()}": entry.value for entry in count().entries}
    builder = ArchiveBuilder().with_(comment=b"").classic()
    for name, value in values.items():
        one = ArchiveBuilder().classic().add(name, value)
        builder.entries += (one.deflate(name).stream(name) if value else one).entries
    return builder


def large(*holes):
    """A level of large chunks of zeros and a small level."""
    builder = ArchiveBuilder().with_(comment=b"").classic()
    documents = image([len(holes), holes[0]], [4, 4], chunks=[[1, holes[0]], [4, 4]])
    for key, value in documents.items():
        builder.add(key, value)
    for number, hole in enumerate(holes):
        builder.add(f"0/c/{number}/0", hole=hole)
    return builder.add("1/c/0/0", SMALL.tobytes())


class SparseData:
    """The bytes of a sparse file, for the server: `bytes` would need memory for its holes."""

    def __init__(self, path):
        self.path = path

    def __len__(self):
        return self.path.stat().st_size

    def __getitem__(self, part):
        with self.path.open("rb") as file:
            file.seek(part.start)
            return file.read(part.stop - part.start)


def run(capsys, verb, *arguments):
    code, out, err = command(verb)(capsys, *arguments)
    assert code == 0, err
    return out


@pytest.fixture(scope="module", params=[(2 * GIB, 2 * GIB), (5 * GIB, GIB, 4 * GIB)], ids=["offsets", "sizes"])
def large_file(request, tmp_path_factory):
    return large(*request.param).write(tmp_path_factory.mktemp("large") / "cells.zip")


@pytest.mark.parametrize(
    ("verb", "options"),
    [
        ("info", ["--json"]),
        ("ls", ["--json"]),
        ("cat", ["1/c/0/0"]),
        ("validate", ["--json"]),
        ("extract", ["OUT.ozx", "--levels", "1"]),
        ("thumbnail", ["OUT.png"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_verb_reads_an_archive_above_4_gib(verb, options, large_file, tmp_path, capsys):
    options = [str(tmp_path / option) if option.startswith("OUT") else option for option in options]
    out = run(capsys, verb, large_file, *options)
    if verb == "ls":
        sizes = [entry["size"] for entry in json.loads(out)["entries"] if entry["key"].startswith("0/c/")]
        assert max(sizes) >= 2 * GIB
    elif verb == "validate":
        assert "zip/overflow" in {finding["id"] for finding in json.loads(out)["files"][0]["findings"]}
    elif verb == "extract":
        np.testing.assert_array_equal(ozx.open(tmp_path / "OUT.ozx")["1"][...], SMALL)
    assert ozx.is_ozx(large_file)


def test_the_library_reads_an_archive_above_4_gib(large_file):
    with ozx.OzxStore(large_file) as store:
        assert take(store, "1/c/0/0") == SMALL.tobytes()
    np.testing.assert_array_equal(ozx.open(large_file)["1"][...], SMALL)


def test_an_archive_above_4_gib_is_read_by_url(large_file):
    with serving(SparseData(large_file)) as server:
        np.testing.assert_array_equal(ozx.open(server.url)["1"][...], SMALL)
        assert server.sent < 10 << 20


@pytest.fixture(scope="module", params=[count, finder])
def many(request, tmp_path_factory):
    return request.param().write(tmp_path_factory.mktemp("many") / "cells.zip")


def check_pixels(path):
    np.testing.assert_array_equal(ozx.open(path)["0"][...], PIXELS)


@pytest.mark.ci
class TestManyEntries:
    """66,051 entries, of which the end record counts 515; each verb takes some seconds."""

    def test_info_ls_and_validate(self, many, capsys):
        entries = json.loads(run(capsys, "info", "--json", many))["entries"]
        assert entries == len(json.loads(run(capsys, "ls", "--json", many))["entries"]) >= 66_051
        code, out, _ = command("validate")(capsys, "--json", many)
        found = {finding["id"] for finding in json.loads(out)["files"][0]["findings"]}
        assert (code, "zip/overflow" in found, found & {"zip/directory", "zip/end-record"}) == (code, True, set())

    def test_repack_mends_and_other_programs_read_it(self, many, tmp_path, capsys):
        path = tmp_path / "out.ozx"
        run(capsys, "repack", many, path, "--no-sync", "--shards", "auto")
        check_pixels(path)
        run(capsys, "repack", many, path, "--no-sync", "--force")
        check_pixels(path)
        assert [finding.id for finding in ozx.validate(path).findings if finding.id.startswith("zip/")] == [
            "zip/many-entries"
        ]
        with zipfile.ZipFile(path) as archive:
            assert len(archive.namelist()) == 66_051
        for judge in (*JUDGES, *ARRAY_JUDGES):
            if judge.name == "7z" and judge.missing() is None:
                assert len(judge.read(path)) == 66_051
            elif judge.name == "tensorstore" and judge.missing() is None:
                np.testing.assert_array_equal(judge.read_array(path, "0"), PIXELS)

    def test_unpack_and_recover(self, many, tmp_path, capsys):
        run(capsys, "unpack", many, tmp_path / "out", "--no-sync")
        root = next((tmp_path / "out").rglob("0/c"))
        pixels = [int.from_bytes((root / f"{y}/{x}").read_bytes()) for y, x in np.ndindex(SIDE, SIDE)]
        assert pixels == PIXELS.ravel().tolist()
        if (
            root.parent.parent.name != "cells.ome.zarr"
        ):  # recover takes no folder for the root if others stand beside it
            run(capsys, "recover", many, tmp_path / "out.ozx", "--no-sync")
            check_pixels(tmp_path / "out.ozx")


@pytest.mark.ci
def test_other_verbs_read_a_count_that_wrapped(tmp_path, capsys):
    path = count().write(tmp_path / "cells.zip")
    check_pixels(path)
    run(capsys, "extract", path, tmp_path / "out.ozx", "--no-sync", "--region", "y=9:17,x=3:90")
    np.testing.assert_array_equal(ozx.open(tmp_path / "out.ozx")["0"][...], PIXELS[9:17, 3:90])
    run(capsys, "export", path, tmp_path / "out.ome.tif", "--no-sync")
    np.testing.assert_array_equal(tifffile.imread(tmp_path / "out.ome.tif"), PIXELS)
    with serving(path.read_bytes()) as server:
        assert ozx.open(server.url)["0"][200:202, 250:].tolist() == PIXELS[200:202, 250:].tolist()
    run(capsys, "edit", path, "--pixel-size", "0.5um", "--no-sync")
    check_pixels(path)
    assert "zip/overflow" not in {finding.id for finding in ozx.validate(path).findings}


@pytest.mark.ci
def test_a_store_adds_a_value_to_a_count_that_wrapped(tmp_path):
    path = count().write(tmp_path / "cells.zip")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        store = ozx.OzxStore(path, "a")
        put(store, "0/c/0/0", b"\7")
        store.close()
    expected = PIXELS.copy()
    expected[0, 0] = 7
    np.testing.assert_array_equal(ozx.open(path)["0"][...], expected)
