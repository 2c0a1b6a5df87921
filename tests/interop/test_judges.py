"""The judges are judged: each reads a right archive right, and convicts a wrong one."""

import io
import json
import re
import struct
import warnings
import zipfile

import judges
import numpy as np
import pytest
import zarr
from judges import ARRAY_JUDGES, JUDGES, NODE, Judge, RefusalError, digests, require
from zarr.storage import ZipStore

CHUNK_KEY = "0/c/0/0"
CONTENTS = {
    "zarr.json": b'{"zarr_format": 3, "node_type": "group"}',
    "0/zarr.json": b"{}",
    CHUNK_KEY: bytes(range(256)) * 40,
    "Köpfe/two  words": b"a key with umlaut and blanks",
    "empty": b"",
}
PIXELS = np.arange(64, dtype="<u2").reshape(8, 8) + 1000


@pytest.fixture(params=JUDGES, ids=lambda judge: judge.name)
def judge(request):
    require(request.param)
    return request.param


@pytest.fixture(params=ARRAY_JUDGES, ids=lambda judge: judge.name)
def array_judge(request):
    require(request.param)
    return request.param


def called(name):
    return next(judge for judge in JUDGES if judge.name == name)


def zip_bytes(entries, method=zipfile.ZIP_STORED, mode=0o600):
    """An archive as Python writes it, with a comment, and with a ZIP64 extra field in each local header."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Duplicate name")
        archive.comment = b'{"ome": {"version": "0.5"}}'
        for key, value in entries:
            info = zipfile.ZipInfo(key)
            info.compress_type = method
            info.external_attr = (0o100000 | mode) << 16
            with archive.open(info, "w", force_zip64=True) as file:
                file.write(value)
    return buffer.getvalue()


def with_zip64_end(data):
    """The archive with ZIP64 end record and locator, true values in the classic end record: as in a small .ozx."""
    end = data.rindex(b"PK\5\6")
    count, size, offset = struct.unpack_from("<HII", data, end + 10)
    record = struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, count, count, size, offset)
    locator = struct.pack("<4sIQI", b"PK\6\7", 0, end, 1)
    return data[:end] + record + locator + data[end:]


def flipped(data, offset):
    return data[:offset] + bytes([data[offset] ^ 1]) + data[offset + 1 :]


GOOD = zip_bytes(list(CONTENTS.items()))
CHUNK_OFFSET = GOOD.index(CONTENTS[CHUNK_KEY])


def written(folder, data):
    path = folder / "an image.ozx"
    path.write_bytes(data)
    return path


@pytest.mark.ci
class TestArchives:
    def test_contents_are_seen(self, judge, tmp_path):
        assert judge.read(written(tmp_path, GOOD)) == digests(CONTENTS)

    def test_deflated_entries_are_inflated(self, judge, tmp_path):
        archive = written(tmp_path, zip_bytes([(CHUNK_KEY, CONTENTS[CHUNK_KEY])], zipfile.ZIP_DEFLATED))
        assert judge.read(archive) == digests({CHUNK_KEY: CONTENTS[CHUNK_KEY]})

    def test_zip64_end_record_beside_true_values(self, judge, tmp_path):
        archive = written(tmp_path, with_zip64_end(GOOD))
        if judge.small_zip64_refusal is None:
            assert judge.read(archive) == digests(CONTENTS)
        else:
            with pytest.raises(RefusalError, match=judge.small_zip64_refusal):
                judge.read(archive)

    def test_one_flipped_bit(self, judge, tmp_path):
        archive = written(tmp_path, flipped(GOOD, CHUNK_OFFSET + 100))
        if judge.checks_crc:
            with pytest.raises(RefusalError, match=r"(?i)crc"):
                judge.read(archive)
        else:
            seen, truth = judge.read(archive), digests(CONTENTS)
            assert {key for key in truth if seen[key] != truth[key]} == {CHUNK_KEY}

    def test_truncated_inside_the_data(self, judge, tmp_path):
        archive = written(tmp_path, GOOD[: CHUNK_OFFSET + 100])
        with pytest.raises(RefusalError):
            judge.read(archive)

    def test_two_entries_with_one_key(self, judge, tmp_path):
        archive = written(tmp_path, zip_bytes([("x", b"1"), ("x", b"2")]))
        if judge.sees_duplicates:
            with pytest.raises(RefusalError):
                judge.read(archive)
        else:
            assert judge.read(archive) == digests({"x": b"2"})

    def test_local_name_differs_from_directory(self, judge, tmp_path):
        archive = written(tmp_path, GOOD.replace(b"zarr.json", b"ZARR.JSON", 1))
        # bsdtar and jszip find entries by the directory, and still take the name from the local header.
        if judge.streams or judge.name in {"bsdtar", "jszip"}:
            assert "ZARR.JSON" in judge.read(archive)
        elif judge.name in {"zipfile", "unzip"}:  # compare the two
            with pytest.raises(RefusalError, match=r"ZARR\.JSON"):
                judge.read(archive)
        else:
            assert judge.read(archive) == digests(CONTENTS)

    @pytest.mark.parametrize("name", ["unzip", "7z", "bsdtar"])
    def test_files_nobody_may_read(self, name, tmp_path):
        require(called(name))
        with pytest.raises(RefusalError, match="unreadable for its owner"):
            called(name).read(written(tmp_path, zip_bytes([("x", b"1")], mode=0)))

    def test_7z_warnings_count(self, tmp_path):
        require(called("7z"))
        with pytest.raises(RefusalError, match="There are data after the end of archive"):
            called("7z").read(written(tmp_path, GOOD + b"and more"))


@pytest.mark.ci
class TestArrays:
    @pytest.fixture(params=["", "0"], ids=["root", "node"])
    def node(self, request):
        return request.param

    @pytest.fixture
    def archive(self, node, tmp_path):
        path = tmp_path / "an image.ozx"
        with ZipStore(path, mode="w") as store:
            array = zarr.create_array(
                store, name=node or None, shape=(8, 8), chunks=(4, 4), dtype="<u2", compressors=None, fill_value=0
            )
            array[...] = PIXELS
        return path

    def test_pixels_are_seen(self, array_judge, archive, node):
        array = array_judge.read_array(archive, node)
        assert array.dtype == PIXELS.dtype
        np.testing.assert_array_equal(array, PIXELS)

    def test_zip64_end_record_beside_true_values(self, array_judge, archive, node):
        archive.write_bytes(with_zip64_end(archive.read_bytes()))
        np.testing.assert_array_equal(array_judge.read_array(archive, node), PIXELS)

    def test_one_flipped_bit(self, array_judge, archive, node):
        data = archive.read_bytes()
        archive.write_bytes(flipped(data, data.index(PIXELS[0, :4].tobytes())))
        if array_judge.checks_crc:
            with pytest.raises(RefusalError, match="CRC"):
                array_judge.read_array(archive, node)
        else:
            assert np.argwhere(array_judge.read_array(archive, node) != PIXELS).tolist() == [[0, 0]]


class TestMissing:
    def test_program(self, monkeypatch):
        monkeypatch.setenv("PATH", "")
        reasons = {judge.name: judge.missing() for judge in JUDGES}
        assert reasons.pop("zipfile") is None
        assert reasons["unzip"] == "unzip is not installed"
        assert reasons["zipfs"] == "java and javac are not installed"
        assert reasons["yauzl"] == "node is not installed"
        assert None not in reasons.values()

    def test_node_module(self, monkeypatch, tmp_path):
        monkeypatch.setattr(judges, "NODE", tmp_path)
        monkeypatch.setattr("shutil.which", lambda program: f"/bin/{program}")
        assert called("yauzl").missing() == "node module yauzl is not installed: npm ci in tests/interop/node"

    def test_skips_unless_judges_are_required(self, monkeypatch):
        absent = Judge("absent", missing=lambda: "absent is not installed", read=lambda path: {})
        monkeypatch.delenv(judges.REQUIRE_VARIABLE, raising=False)
        with pytest.raises(pytest.skip.Exception, match="absent is not installed"):
            require(absent)
        monkeypatch.setenv(judges.REQUIRE_VARIABLE, "1")
        with pytest.raises(pytest.fail.Exception, match="absent is not installed"):
            require(absent)


class TestBench:
    def test_names_are_unique_and_explained(self):
        names = [judge.name for judge in JUDGES] + [judge.name for judge in ARRAY_JUDGES]
        readme = (judges.HERE / "README.md").read_text(encoding="utf-8")
        assert re.findall(r"^\| `([^`]+)` \|", readme, re.MULTILINE) == names
        assert len(set(names)) == len(names)

    def test_node_packages_are_exact_and_from_nowhere_in_particular(self):
        package = json.loads((NODE / "package.json").read_text(encoding="utf-8"))
        lock = json.loads((NODE / "package-lock.json").read_text(encoding="utf-8"))
        assert lock["packages"].pop("")["dependencies"] == package["dependencies"]
        for name, version in package["dependencies"].items():
            assert lock["packages"][f"node_modules/{name}"]["version"] == version
        assert not [name for name, entry in lock["packages"].items() if "resolved" in entry]
