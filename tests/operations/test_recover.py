"""Archives cut, flipped, never finished: all that is whole comes back bit for bit, and nothing wrong is passed off."""

import gzip
import io
import json
import os
import random
import shutil
import subprocess
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
import zarr
from cases.archive_builder import ArchiveBuilder, array, group
from children import in_child, wait
from counting_progress import CountingProgress
from hierarchies import FIXTURES, tree
from links import make_link
from packed import pack_tree, sort_values, unmarked, values_of, write_archive, zip_values
from stores import SEED, pattern, put, run
from zarr.storage import ZipStore

import ozx
from ozx.archive.reader import ArchiveReader
from ozx.atomic.locks import lock_file
from ozx.errors import FormatError, OzxWarning, ResourceError, UnsupportedError, UsageError
from ozx.ome.partial_hierarchy import PartialHierarchy
from ozx.operations import recover as module
from ozx.operations.recover import recover
from ozx.places.positional_reading import open_for_reading

FEW = 15
MANY = int(os.environ.get("OZX_DAMAGES", "1000"))


def whole_entries(path, length):
    """Return the values that stand whole in the first `length` bytes."""
    reader = ArchiveReader(os.fspath(path))
    sizes = reader.columns.compressed_sizes.tolist()
    return {
        name: reader.read(index)
        for index, name in enumerate(reader.columns.names())
        if reader.data_offset(index) + sizes[index] <= length
    }


def metadata_complete(values):
    return {key: value for key, value in values.items() if key.endswith("zarr.json") or _array_of(key) in values}


def _array_of(key):
    return f"{key.partition('/c/')[0]}/zarr.json" if "/c/" in key else "zarr.json"


@pytest.fixture
def packed(hierarchy, tmp_path):
    return pack_tree(hierarchy, tmp_path / "whole.ozx")


@pytest.fixture
def cells(tmp_path):
    return pack_tree(FIXTURES / "image.ome.zarr", tmp_path / "whole.ozx")


def test_a_whole_file_comes_back_as_it_is(packed, attempt):
    result, _ = attempt(packed.read_bytes())
    assert (result.complete, result.directory, result.unconfirmed) == (True, "whole", 0)
    assert (result.lost, result.notes) == ((), ())
    assert Path(result.path).read_bytes() == packed.read_bytes()


def check_cut(path, length, attempt):
    expected = metadata_complete(whole_entries(path, length))
    data = path.read_bytes()[:length]
    if "zarr.json" not in expected:
        with pytest.raises(FormatError):
            attempt(data)
        return
    result, values = attempt(data)
    assert {key: value for key, value in values.items() if key not in result.made} == expected
    assert all(values[key] == PartialHierarchy.empty_group() for key in result.made)
    assert result.complete == (length >= ArchiveReader(os.fspath(path)).end.end_offset)
    assert {finding.id for finding in ozx.validate(result.path, level="archive").findings} <= {"rfc9/sharding"}


def test_cut_anywhere(packed, attempt):
    cuts, size = random.Random(1), packed.stat().st_size
    for length in [cuts.randrange(size) for _ in range(FEW)]:
        check_cut(packed, length, attempt)


def check_flip(data, expected, position, mask, attempt):
    damaged = bytearray(data)
    damaged[position] ^= mask
    try:
        result, values = attempt(bytes(damaged))
    except FormatError as error:
        assert error.rule in ("rfc9/root", "zip/crc", "zip/not-a-zip")  # noqa: PT017
        return None
    wrong = {key for key in values if key not in result.made and values[key] != expected.get(key)}
    # gzip's checksum proves the pixels of a chunk, not the time in its header (RFC 1952, 2.3.1).
    proven = {key for key in wrong if is_same_when_inflated(values[key], expected.get(key))}
    wrong -= proven
    if result.directory == "none":
        # A group that nothing leads to and that has nothing below may be called anything: that is counted, no more.
        assert result.unconfirmed == len(values) - len(result.made)
        wrong = {key for key in wrong if not is_lonely_group(key, values)}
    assert wrong == set()
    assert all(json.loads(values[key])["node_type"] == "group" for key in result.made)
    missing = expected.keys() - (values.keys() - set(result.made))
    assert missing or proven or result.complete or result.unconfirmed or len(damaged) < len(data)
    assert not ((missing or proven) and result.complete)
    assert all(finding.severity != "error" for finding in ozx.validate(result.path, level="archive").findings)
    return missing


def is_same_when_inflated(value, expected):
    return expected is not None and expected[:2] == b"\x1f\x8b" and gzip.decompress(value) == gzip.decompress(expected)


def is_lonely_group(key, values):
    prefix = key.removesuffix("zarr.json")
    is_group = prefix != key and json.loads(values[key])["node_type"] == "group"
    return is_group and not any(other != key and other.startswith(prefix) for other in values)


def flips(path, count, seed, stop=None):
    """Yield positions, half of them in headers and the directory, and a mask for each."""
    reader, places = ArchiveReader(os.fspath(path)), random.Random(seed)
    offsets, stop = reader.columns.header_offsets.tolist(), stop or path.stat().st_size
    for _ in range(count):
        header = places.choice(offsets) + places.randrange(60)
        directory = places.randrange(reader.end.directory_offset, path.stat().st_size)
        position = places.choice([header, directory, places.randrange(stop), places.randrange(stop)])
        yield position % stop, places.randrange(1, 256)


@pytest.mark.ci
def test_a_thousand_flipped_bytes(packed, attempt):
    data, expected = packed.read_bytes(), values_of(packed)
    lost = [check_flip(data, expected, position, mask, attempt) for position, mask in flips(packed, MANY, 4)]
    # At most the value that was hit is missing, with its chunks where it is the metadata of an array.
    for missing in lost:
        arrays = {key.removesuffix("zarr.json") for key in missing or () if key.endswith("zarr.json")}
        assert len([key for key in missing or () if not key.startswith(tuple(arrays) or "?")]) <= 1


@pytest.mark.ci
def test_every_flip_in_a_local_header_is_repaired_by_the_directory(cells, attempt):
    data, expected = cells.read_bytes(), values_of(cells)
    reader = ArchiveReader(os.fspath(cells))
    for position in range(int(reader.columns.header_offsets[40]), reader.data_offset(40)):
        assert check_flip(data, expected, position, 0x41, attempt) == set()


def test_every_flip_in_a_name_of_the_directory_is_repaired(cells, attempt):
    data, expected = cells.read_bytes(), values_of(cells)
    columns = ArchiveReader(os.fspath(cells)).columns
    name = data.index(columns.raw_name(30), ArchiveReader(os.fspath(cells)).end.directory_offset)
    for position in range(name, name + len(columns.raw_name(30))):
        for mask in (1, 2, 3, 0x80):
            assert check_flip(data, expected, position, mask, attempt) == set()


def test_without_directory_or_end_records(cells, attempt):
    data, expected = cells.read_bytes(), values_of(cells)
    start = ArchiveReader(os.fspath(cells)).end.directory_offset
    for damaged, complete, directory in [
        (data[:start], False, "none"),
        (data[:start] + bytes(len(data) - start), False, "none"),
        (data[:-22], True, "part"),
        (data[:-180] + bytes(180), True, "part"),
        (data + b"trailing", True, "whole"),
        (b"#!/bin/sh\n" + data, True, "whole"),
        (b"#!/bin/sh\n" + data[:-180], False, "part"),
        (data[:50_000] + b"garbage between" * 100 + data[50_000:], True, "whole"),
    ]:
        result, values = attempt(damaged)
        lost = {"0/c/0/1/3"} if b"garbage between" in damaged else set()
        assert expected.keys() - values.keys() == lost or (lost and len(expected.keys() - values.keys()) == 1)
        assert all(expected[key] == value for key, value in values.items())
        assert (result.complete, result.directory) == (complete and not lost, directory)


def test_a_hole_of_zeros(cells, attempt):
    data, expected = bytearray(cells.read_bytes()), values_of(cells)
    reader = ArchiveReader(os.fspath(cells))
    first, last = (int(reader.columns.header_offsets[index]) for index in (20, 25))
    data[first + 10 : last + 10] = bytes(last - first)
    result, values = attempt(bytes(data))
    names = reader.columns.names()
    # The header of the last one is gone in part; the directory knows where its value is.
    assert values == {key: value for key, value in expected.items() if key not in names[20:25]}
    assert [entry.name for entry in result.lost] == names[20:25]
    assert result.arrays[0].to_dict() == {
        "path": "0",
        "chunks": 32,
        "found": 27,
        "missing": 5,
        "region": [list(span) for span in result.arrays[0].region],
        "is_lost": False,
        "sentence": "5 of 32 chunks of level 0 are missing, within c=0:1, y=128:256, x=0:256",
    }
    cut = bytes(data[: reader.end.directory_offset])
    result, values = attempt(cut)
    assert values == {key: value for key, value in expected.items() if key not in names[20:26]}


def test_an_archive_in_a_value_stays_there(tmp_path, attempt):
    inner = write_archive(tmp_path / "inner.ozx", SEED | {"0/c/7/7": b"inner"}).read_bytes()
    values = SEED | {"0/c/0/0": b"first", "0/c/0/1": inner + b"end", "0/c/0/2": b"last"}
    data = write_archive(tmp_path / "outer.ozx", values).read_bytes()
    assert attempt(data)[1] == values
    start = data.index(inner)
    for length in [start + len(inner) // 2, start + len(inner) - 1, start + len(inner), start + len(inner) + 2]:
        assert attempt(data[:length])[1] == SEED | {"0/c/0/0": b"first"}
    damaged = bytearray(data)
    damaged[start + len(inner) + 1] ^= 1
    expected = {key: value for key, value in values.items() if key != "0/c/0/1"}
    assert attempt(bytes(damaged))[1] == expected
    assert (
        attempt(bytes(damaged[: ArchiveReader(os.fspath(tmp_path / "outer.ozx")).end.directory_offset]))[1] == expected
    )


def test_deleted_and_replaced_values_do_not_come_back(tmp_path, attempt):
    path = zip_values(tmp_path / "a.zip", SEED | {"0/c/0/0": b"old", "0/c/0/1": b"deleted"})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr("0/c/0/0", b"the new value")
            archive.filelist = [info for info in archive.filelist if info.filename != "0/c/0/1"]
    data = path.read_bytes()
    result, values = attempt(data)
    assert values == SEED | {"0/c/0/0": b"the new value"}
    # The directory may have lost the header of the second value, too.
    assert not result.complete
    assert any("left out" in note and note.endswith(": 0/c/0/1") for note in result.notes)
    damaged = data.replace(b"the new value", b"the bad value")
    result, values = attempt(damaged)
    assert values == SEED
    assert [entry.name for entry in result.lost] == ["0/c/0/0"]
    assert not result.complete


def test_the_last_of_several_values_counts_without_a_directory(tmp_path, attempt):
    path = tmp_path / "a.zip"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        store = ZipStore(path, mode="w")
        root = zarr.create_group(store, attributes={"ome": {"version": "0.5"}})
        pixels = root.create_array("0", shape=(16,), chunks=(4,), dtype="uint8", compressors=None)
        pixels[:] = 1
        pixels[2:6] = 2
        root.attrs["more"] = 1
        store._zf.fp.flush()
        data = path.read_bytes()  # never closed
        store.close()
    result, values = attempt(data)
    assert result.notes[-1] == "3 keys had several values; the last value of each key was taken"
    with ZipStore(result.path, mode="r") as store:
        assert zarr.open_group(store, mode="r")["0"][...].tolist() == [1, 1, 2, 2, 2, 2, *[1] * 10]
        assert zarr.open_group(store, mode="r").attrs["more"] == 1
    # Box within the last one, which was being written: the one before it counts.
    again = data.rindex(b"PK\3\4")
    result, values = attempt(data[: again + 60])
    assert "more" not in json.loads(values["zarr.json"])["attributes"]
    assert result.lost[0].reason == "it is cut off by the end of the file; an earlier value was taken"


def write_foreign(writer, source, path):
    """Write the files of directory `source` by another program; None where that is not there."""
    names = sorted(tree(source), key=lambda key: (not key.endswith("zarr.json"), key))
    listing = "\n".join(names) + "\n"
    if writer.startswith("python"):
        stream = io.BytesIO() if writer == "python" else Unseekable()
        method = zipfile.ZIP_DEFLATED if writer.endswith("deflated") else zipfile.ZIP_STORED
        with zipfile.ZipFile(stream, "w", method) as archive:
            for name in names:
                archive.write(source / name, name)
        path.write_bytes(stream.getvalue())
        return
    commands = {
        "zip": ["zip", "-q", "-X", "-@", str(path)],
        "zip with descriptors": ["zip", "-q", "-fd", "-@", str(path)],
        "zip -0 with descriptors": ["zip", "-q", "-0", "-fd", "-@", str(path)],
        "zip to a pipe": ["sh", "-c", f"zip -q - -@ | cat > '{path}'"],
        "bsdtar": ["bsdtar", "--format", "zip", "-cf", str(path), "-T", "-"],
        "bsdtar stored to a pipe": [
            "sh",
            "-c",
            f"bsdtar --format zip --options zip:compression=store -cf - -T - | cat > '{path}'",
        ],
        "7z": ["7z", "a", "-bd", "-tzip", str(path), "."],
        "7z deflate64": ["7z", "a", "-bd", "-tzip", "-mm=Deflate64", str(path), "."],
    }
    if shutil.which(commands[writer][0]) is None or shutil.which(writer.split()[0]) is None:
        pytest.skip(f"{writer} is not installed")
    subprocess.run(commands[writer], cwd=source, input=listing, text=True, check=True, stdout=subprocess.DEVNULL)


class Unseekable(io.BytesIO):
    def seek(self, *arguments):
        raise io.UnsupportedOperation

    def tell(self):
        raise io.UnsupportedOperation

    def seekable(self):
        return False


WRITERS = [
    *("python", "python unseekable", "python unseekable deflated", "zip", "zip with descriptors"),
    *("zip -0 with descriptors", "zip to a pipe", "bsdtar", "bsdtar stored to a pipe", "7z", "7z deflate64"),
]


@pytest.mark.parametrize("writer", WRITERS)
def test_archives_of_other_writers_without_their_directory(tmp_path, attempt, writer):
    source, path = FIXTURES / "image.ome.zarr", tmp_path / "foreign.zip"
    write_foreign(writer, source, path)
    expected, data = tree(source), path.read_bytes()
    result, values = attempt(data)
    assert values == expected
    assert (result.complete, result.directory) == (True, "whole")
    result, values = attempt(data[: data.index(b"PK\1\2")])
    assert values == expected
    assert not result.complete
    assert {finding.id for finding in ozx.validate(result.path, level="archive").findings} <= {"rfc9/sharding"}
    cuts = random.Random(8)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        infos = sorted(archive.infolist(), key=lambda info: info.header_offset)
    root = [info.filename for info in infos].index("zarr.json")
    if root + 1 == len(infos):
        return  # 7z: without its end there is no root
    first = infos[root + 1].header_offset
    for length in [cuts.randrange(first + 60, len(data)) for _ in range(FEW)]:
        _, values = attempt(data[:length])
        assert all(expected.get(key, value) == value for key, value in values.items())
        starts = [info.header_offset for info in infos] + [data.index(b"PK\1\2")]
        whole = {info.filename for info, stop in zip(infos, starts[1:], strict=True) if stop + 4 <= length}
        present = {name: expected[name] for name in whole if not name.endswith("/")}
        assert metadata_complete(present).keys() <= values.keys()


def kill_writer(path, mode, values, replaced):
    """Write in a child process that is killed before it closes the store."""

    def work():
        warnings.simplefilter("ignore", OzxWarning)
        store = ozx.OzxStore(path, mode)
        for key, data in [*values.items(), *replaced.items()]:
            put(store, key, data)
        os.kill(os.getpid(), 9)

    assert wait(in_child(work)) == -9


@pytest.mark.posix("needs fork and SIGKILL")
@pytest.mark.parametrize("mode", ["w", "a"])
def test_the_file_of_a_killed_writer(tmp_path, mode):
    path = tmp_path / "a.ozx"
    old = SEED | {"0/c/7/7": b"old"}
    if mode == "a":
        write_archive(path, sort_values(old))
    values = SEED | {f"0/c/{n // 8}/{n % 8}": pattern(n, 3_000 + n) for n in range(30)}
    replaced = {f"0/c/0/{n}": pattern(100 + n, 2_000) for n in range(4)} | {"zarr.json": group(version="0.5", x=1)}
    replaced["zarr.json"] = group(attributes={"ome": {"version": "0.5"}, "changed": True})
    kill_writer(path, mode, values, replaced)
    result = recover(tmp_path / "a.ozx.partial", tmp_path / "out.ozx")
    assert unmarked(values_of(tmp_path / "out.ozx")) == values | replaced
    assert (result.complete, result.directory, result.lost_count) == (False, "none", 0)
    (loss,) = result.arrays
    assert (loss.found, loss.missing, loss.region) == (30, 34, ((24, 64), (0, 64)))
    if mode == "a":
        assert values_of(path) == old
    assert {finding.id for finding in ozx.validate(result.path, level="archive").findings} <= {"rfc9/sharding"}


@pytest.mark.posix("needs fork and SIGKILL")
@pytest.mark.parametrize("seed", range(4))
def test_a_writer_killed_after_any_step(tmp_path, seed):
    moments, values = random.Random(seed), dict(SEED)
    steps = [*SEED.items(), ("0/c/0/0", b"pixels")]
    for turn in range(moments.randrange(20, 200)):
        key = f"0/c/{moments.randrange(8)}/{moments.randrange(8)}"
        value = pattern(turn, moments.choice([300, 20_000, 20_000, 70_000]))
        steps.append((key, None if moments.random() < 0.15 else value))
        if turn % 40 == 20:
            steps.append(("zarr.json", group(attributes={"ome": {"version": "0.5"}, "turn": turn})))
    for key, value in steps:
        values.pop(key, None)
        if value is not None:
            values[key] = value

    def work():
        warnings.simplefilter("ignore", OzxWarning)
        store = ozx.OzxStore(tmp_path / "a.ozx", "w")
        for key, value in steps:
            run(store.delete(key)) if value is None else put(store, key, value)
        os.kill(os.getpid(), 9)

    assert wait(in_child(work)) == -9
    result = recover(tmp_path / "a.ozx.partial", tmp_path / "out.ozx", sync=False)
    assert unmarked(values_of(tmp_path / "out.ozx")) == values
    assert result.lost == ()


def test_a_writer_at_work_is_left_alone(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OzxWarning)
        store = ozx.OzxStore(tmp_path / "a.ozx", "w", keep_partial=False)
        for key, data in SEED.items():
            put(store, key, data)
        put(store, "0/c/0/0", b"pixels")
        with pytest.raises(ResourceError, match="another program is writing this file"):
            recover(tmp_path / "a.ozx.partial", tmp_path / "out.ozx")
        store.close()
    descriptor = open_for_reading(os.fspath(tmp_path / "a.ozx"))
    assert lock_file(descriptor)
    os.close(descriptor)


def damage(path, *keys, without_directory=False):
    reader, data = ArchiveReader(os.fspath(path)), bytearray(path.read_bytes())
    for key in keys:
        data[reader.data_offset(reader.find(key)) + 1] ^= 1
    return bytes(data[: reader.end.directory_offset] if without_directory else data)


@pytest.mark.parametrize("without_directory", [False, True])
def test_an_array_without_its_metadata_is_lost_as_a_whole(cells, attempt, without_directory):
    expected = values_of(cells)
    data = damage(cells, "1/zarr.json", "0/c/1/2/3", without_directory=without_directory)
    result, values = attempt(data)
    assert values == {key: v for key, v in expected.items() if not key.startswith("1/") and key != "0/c/1/2/3"}
    losses = [("0", 31, 1, False), ("1", 8, None, True)]
    losses += [("labels/cells/0", 15, 1, False)] if without_directory else []  # as nobody knows that it never was there
    assert [(loss.path, loss.found, loss.missing, loss.is_lost) for loss in result.arrays] == losses
    assert result.arrays[0].region == ((1, 2), (128, 192), (192, 256))
    assert {entry.name for entry in result.lost} == {"1/zarr.json", "0/c/1/2/3"}
    with ZipStore(result.path, mode="r") as store:
        pixels = zarr.open_group(store, mode="r")["2"][...]
        np.testing.assert_array_equal(pixels, zarr.open_group(FIXTURES / "image.ome.zarr", mode="r")["2"][...])


@pytest.mark.parametrize("without_directory", [False, True])
def test_a_group_that_is_lost_between_others_is_made_anew(tmp_path, attempt, without_directory):
    path = pack_tree(FIXTURES / "plate.ome.zarr", tmp_path / "plate.ozx")
    expected = values_of(path)
    data = damage(path, "A/zarr.json", "A/1/zarr.json", without_directory=without_directory)
    result, values = attempt(data)
    assert result.made == ("A/zarr.json", "A/1/zarr.json")
    assert result.notes[-1] == "written as empty groups, because their metadata is lost: A/1/zarr.json, A/zarr.json"
    assert list(values) == list(expected)
    assert {key for key in values if values[key] != expected[key]} == set(result.made)
    assert ozx.validate(result.path, level="archive").valid


def test_lost_metadata_is_taken_from_its_consolidated_copy(tmp_path, attempt):
    source = shutil.copytree(FIXTURES / "image.ome.zarr", tmp_path / "image.ome.zarr")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        zarr.consolidate_metadata(source)
    path = pack_tree(source, tmp_path / "whole.ozx")
    expected = values_of(path)
    result, values = attempt(damage(path, "0/zarr.json", "labels/zarr.json"))
    assert result.made == ("0/zarr.json", "labels/zarr.json")
    assert values.keys() == expected.keys()
    for key in result.made:
        assert json.loads(expected[key]).items() <= json.loads(values[key]).items()
    assert result.arrays == ()
    assert not result.complete
    with ZipStore(result.path, mode="r") as store:
        assert zarr.open_group(store, mode="r", use_consolidated=False)["0"].shape == (2, 256, 256)


def test_without_the_root_nothing_is_written(cells, attempt, tmp_path):
    with pytest.raises(FormatError, match=r"is lost \(its CRC-32 .*\); 70 values of 8 nodes can be read") as error:
        attempt(damage(cells, "zarr.json"))
    assert error.value.rule == "rfc9/root"
    assert os.listdir(tmp_path / "out") == []
    two = {f"{folder}.ome.zarr/{key}": value for folder in "ab" for key, value in SEED.items()}
    with pytest.raises(FormatError) as error:
        attempt(write_archive(tmp_path / "b.zip", two).read_bytes())
    assert "in the folder a.ome.zarr: 7z x" in error.value.hint


def test_zarr_v2_is_written_as_it_was(tmp_path, attempt):
    values = tree(FIXTURES / "legacy.ome.zarr")
    data = zip_values(tmp_path / "a.zip", values).read_bytes()
    result, found = attempt(data)
    assert found == values
    assert result.complete
    result, found = attempt(data[: len(data) // 2])
    assert all(values[key] == value for key, value in found.items())
    assert len(found) > 3
    assert result.notes[0].startswith("this is OME-Zarr 0.4 (Zarr v2)")


def test_zipped_zarr_stays_that(tmp_path, attempt):
    values = SEED | {"zarr.json": group(None)}
    result, found = attempt(write_archive(tmp_path / "a.zip", values).read_bytes())
    assert found == values
    assert result.notes == ("this is zipped Zarr, but not OME-Zarr: its root zarr.json has no attributes.ome.version",)


def test_of_two_archives_in_one_file_the_last_counts_and_nobody_can_know(attempt):
    first, last = (ArchiveBuilder.valid(**{"0/c/0": value}) for value in (b"abcd", b"evil"))
    result, found = attempt(first.build() + last.build())
    assert found == {entry.name.decode(): entry.value for entry in last.entries}
    assert (result.complete, result.lost) == (False, ())
    assert result.notes[0] == (
        "some keys have several listed values, as in two joined archives; it is unknown which values are valid"
    )
    result, found = attempt(first.build() * 2)  # equal, but not one archive
    assert found == {entry.name.decode(): entry.value for entry in first.entries}
    assert not result.complete


def test_a_value_without_a_name_is_lost(attempt):
    result, found = attempt(ArchiveBuilder.valid().add("", b"nameless").build())
    assert sorted(found) == ["0/c/0", "0/zarr.json", "zarr.json"]
    assert [(entry.name, entry.reason) for entry in result.lost] == [("", "its name is damaged")]


@pytest.mark.parametrize("where", ["local", "central"])
@pytest.mark.parametrize("value", [b"bytes", b""])
def test_a_name_in_dispute_is_never_that_of_a_folder(attempt, where, value):
    builder = ArchiveBuilder.valid().add("folder-", value).set("folder-", **{where: {"name": b"folder/"}})
    result, found = attempt(builder.build())
    assert {key for key in found if key.endswith("/")} == set()
    assert found.get("folder-", value) == value
    assert {entry.name for entry in result.lost} <= {"folder/", "folder-"}


def test_of_two_names_in_dispute_the_one_that_is_there_is_not_lost(attempt):
    builder = ArchiveBuilder.valid().classic().with_(comment=b"")
    data = builder.build()
    directory = data[data.index(b"PK\1\2") : data.index(b"PK\5\6")]
    result, found = attempt(data[:-22] + directory.replace(b"0/c/0", b"0/c/9") + data[-22:])
    assert found["0/c/0"] == b"abcd"
    assert [entry.name for entry in result.lost] == ["0/c/9"]


def test_other_files_come_back_and_keys_that_cannot_be_do_not(tmp_path, attempt):
    values = SEED | {"OME/METADATA.ome.xml": b"<OME/>", "Thumbnails/a.png": b"png"}
    wrong = {"0/c/9/9": b"outside", "0/c/0/x": b"no chunk", "0/notes.txt": b"?", "a\\b": b"?"}
    path = write_archive(tmp_path / "a.ozx", values | wrong | {"0xc/0/1": b"slash"})
    data = path.read_bytes()[: ArchiveReader(os.fspath(path)).end.directory_offset]
    result, found = attempt(data)
    assert found == values
    assert {entry.name for entry in result.lost} == {*wrong, "0xc/0/1"}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "found an empty file"),
        (b"no archive at all", "found no local file header"),
        (bytes(100_000), "found no local file header"),
        (b"PK\3\4", "damaged entries; '': its header is cut off"),
        (b"PK\5\6" + bytes(18), "found no local file header"),
    ],
)
def test_what_is_no_archive_is_refused(attempt, data, message):
    with pytest.raises(FormatError, match=message):
        attempt(data)


def test_encryption_is_refused(tmp_path, attempt):
    if shutil.which("zip") is None:
        pytest.skip("zip is not installed")
    source = FIXTURES / "image.ome.zarr"
    subprocess.run(["zip", "-q", "-r", "-P", "secret", str(tmp_path / "a.zip"), "."], cwd=source, check=True)
    with pytest.raises(UnsupportedError, match="its entries are encrypted"):
        attempt((tmp_path / "a.zip").read_bytes())


def test_places_are_checked_first(cells, tmp_path):
    with pytest.raises(UsageError, match="is the damaged file itself"):
        recover(cells, cells, force=True)
    link = tmp_path / "link.ozx"
    make_link(link, cells)
    with pytest.raises(UsageError, match="is the damaged file itself"):
        recover(link, cells, force=True)
    hierarchy = shutil.copytree(FIXTURES / "image.ome.zarr", tmp_path / "h.ome.zarr")
    with pytest.raises(UsageError, match="inside a hierarchy"):
        recover(cells, hierarchy / "out.ozx")


def test_a_file_that_changes_meanwhile_is_told(cells, tmp_path, monkeypatch):
    original = module.salvage

    def change(*arguments, **words):
        found = original(*arguments, **words)
        data = bytearray(cells.read_bytes())
        data[40_000] ^= 1
        cells.write_bytes(bytes(data))
        return found

    monkeypatch.setattr(module, "salvage", change)
    with pytest.raises(FormatError, match="was read twice, with different results") as error:
        recover(cells, tmp_path / "out.ozx")
    assert error.value.rule == "zip/changed"
    assert not (tmp_path / "out.ozx").exists()


def test_large_values_and_progress(tmp_path):
    values = {"zarr.json": group(), "0/zarr.json": array([4], [1])}
    values |= {f"0/c/{n}": random.Random(n).randbytes(5 << 20) for n in range(3)}
    path = write_archive(tmp_path / "a.ozx", values)
    progress = CountingProgress()
    path.write_bytes(path.read_bytes()[: 12 << 20])
    result = recover(path, tmp_path / "b.ozx", progress=progress)
    assert unmarked(values_of(tmp_path / "b.ozx")) == {key: values[key] for key in list(values)[:4]}
    ((_, total),) = progress.phases
    assert (total, progress.stopped) == (2 * (12 << 20), 1)
    assert 0 < progress.done <= total
    assert result.arrays[0].region == ((2, 4),)


def test_a_note_says_how_to_make_lost_levels_again(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 4000, (300, 400), dtype="uint16")
    ozx.write_image(tmp_path / "a.ozx", pixels, shards="none")
    data = (tmp_path / "a.ozx").read_bytes()
    (lower,) = [entry for entry in ozx.list_entries(tmp_path / "a.ozx") if entry.key == "1/c/0/0"]
    (tmp_path / "cut.ozx").write_bytes(data[: lower.offset + 100])
    result = recover(tmp_path / "cut.ozx", tmp_path / "saved.ozx")
    (note,) = [note for note in result.notes if "the full resolution is whole" in note]
    assert f"`ozx export {tmp_path / 'saved.ozx'} full.ome.tif --levels :1`" in note
    ozx.export(tmp_path / "saved.ozx", tmp_path / "full.ome.tif", levels=":1")
    again = ozx.import_image(tmp_path / "full.ome.tif").path
    np.testing.assert_array_equal(ozx.open(again)["0"][...], pixels)
    assert ozx.open(again)["1"][...].any()
