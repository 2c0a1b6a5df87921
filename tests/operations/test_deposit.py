"""What archives of images ask for: a file in the layout of the BioImage Archive, a BagIt bag, digests, an RO-Crate."""

import hashlib
import importlib
import json
import struct
import zipfile

import pytest
from hierarchies import FIXTURES, digests, tree
from packed import zip_values

import ozx
from ozx.errors import FormatError, UsageError
from ozx.ome.ro_crate import CRATE
from ozx.operations.info import inspect
from ozx.operations.list_entries import iter_digests
from ozx.operations.read_value import read_value
from ozx.operations.verify import verify

IMAGE = FIXTURES / "image.ome.zarr"
BIOIMAGE = {"layout": "bioimage-archive", "sync": False}


def _ids(report) -> set[str]:
    return {finding.id for finding in report.findings if finding.severity != "note"}


def test_the_layout_of_the_bioimage_archive_has_one_folder_and_the_root_first(tmp_path):
    packed = ozx.pack(IMAGE, tmp_path / "cells.ome.zarr.zip", verify=True, **BIOIMAGE)
    with zipfile.ZipFile(packed.path) as archive:
        names = archive.namelist()
        assert names[0] == "cells.ome.zarr/zarr.json"
        assert {name.partition("/")[0] for name in names} == {"cells.ome.zarr"}
        assert {entry.compress_type for entry in archive.infolist()} == {zipfile.ZIP_STORED}
        assert archive.comment == b""
        assert archive.testzip() is None
    assert struct.pack("<I", 0x06064B50) in (tmp_path / "cells.ome.zarr.zip").read_bytes()  # the ZIP64 end record
    assert packed.notes == ()


def test_the_bytes_do_not_depend_on_how_they_were_packed(tmp_path):
    paths = [tmp_path / name / "cells.ome.zarr.zip" for name in ("plain", "manifest")]
    for path, manifest in zip(paths, (False, True), strict=True):
        path.parent.mkdir()
        ozx.pack(IMAGE, path, manifest=manifest, **BIOIMAGE)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert verify(paths[1]).entries == len(tree(IMAGE))


def test_info_image_and_unpack_take_the_folder_for_the_root(tmp_path):
    path = ozx.pack(IMAGE, tmp_path / "cells.ome.zarr.zip", **BIOIMAGE).path
    assert inspect(path).ome_version == inspect(IMAGE).ome_version
    assert (ozx.open_image(path).read() == ozx.open_image(IMAGE).read()).all()
    assert [*ozx.open(path)] == [*ozx.open(ozx.pack(IMAGE, tmp_path / "a.ozx").path)]
    assert ozx.unpack(path).path == str(tmp_path / "cells.ome.zarr")
    assert tree(tmp_path / "cells.ome.zarr") == tree(IMAGE)


def test_validate_names_the_layout_and_checks_all_else(tmp_path):
    values = tree(IMAGE)
    path = ozx.pack(IMAGE, tmp_path / "cells.ome.zarr.zip", **BIOIMAGE).path
    report = ozx.validate(path, level="data")
    assert report.valid
    assert _ids(report) == set()
    assert any(finding.id == "rfc9/root" and "BioImage Archive" in finding.message for finding in report.findings)
    broken = {f"cells.ome.zarr/{key}": value for key, value in values.items()}
    broken["cells.ome.zarr/0/zarr.json"] = b"{"
    assert not ozx.validate(zip_values(tmp_path / "b.zarr.zip", broken)).valid


@pytest.mark.parametrize("other", ["beside.txt", "other.ome.zarr/zarr.json"])
def test_an_archive_with_more_than_the_folder_has_no_root(tmp_path, other):
    values = {f"cells.ome.zarr/{key}": value for key, value in tree(IMAGE).items()}
    path = zip_values(tmp_path / "cells.ome.zarr.zip", {**values, other: b"{}"})
    assert "rfc9/root" in _ids(ozx.validate(path))


def test_the_name_of_the_file_is_that_of_the_folder(tmp_path):
    with pytest.raises(UsageError, match=r"expected a name that ends in \.ome\.zarr\.zip"):
        ozx.pack(IMAGE, tmp_path / "cells.ozx", **BIOIMAGE)
    with pytest.raises(UsageError, match="expected the layout"):
        ozx.pack(IMAGE, tmp_path / "cells.ozx", layout="zip")
    assert list(tmp_path.iterdir()) == []


def test_a_complete_file_is_skipped(tmp_path):
    first = ozx.pack(IMAGE, tmp_path / "cells.ome.zarr.zip", **BIOIMAGE)
    again = ozx.pack(IMAGE, first.path, resume=True, verify=True, **BIOIMAGE)
    assert (again.status, again.bytes) == ("skipped", first.bytes)


@pytest.mark.ci  # with a judge from the extra ci
def test_a_bag_holds_the_directory_and_its_validator_accepts_it(tmp_path):
    bagit = pytest.importorskip("bagit")
    path = ozx.pack(IMAGE, tmp_path / "cells.ozx", sync=False).path
    result = ozx.unpack(path, to="bagit", sync=False)
    assert result.path == str(tmp_path / "cells.bag")
    assert tree(tmp_path / "cells.bag" / "data" / "cells.ome.zarr") == tree(IMAGE)
    assert bagit.Bag(result.path).validate()
    changed = tmp_path / "cells.bag" / "data" / "cells.ome.zarr" / "zarr.json"
    changed.write_bytes(changed.read_bytes().replace(b"0.5", b"0.6", 1))
    with pytest.raises(bagit.BagValidationError):
        bagit.Bag(result.path).validate()


def test_the_lines_of_a_bag_name_every_file_with_its_digest(tmp_path):
    values = {"zarr.json": b"{}", "a%b/c d": b"1", "é": b""}
    result = ozx.unpack(zip_values(tmp_path / "a.zip", values), to="bagit", sync=False)
    lines = (tmp_path / "a.bag" / "manifest-sha256.txt").read_text("utf-8").splitlines()
    found = dict(reversed(line.split("  ", 1)) for line in lines)
    names = {f"data/a.ome.zarr/{key.replace('%', '%25')}": value for key, value in values.items()}
    assert found == {name: hashlib.sha256(value).hexdigest() for name, value in names.items()}
    assert result.entries == 3


def test_a_bag_of_a_node_holds_that_node(tmp_path):
    path = ozx.pack(IMAGE, tmp_path / "cells.ozx", sync=False).path
    ozx.unpack(path, node="0", to="bagit", sync=False)
    assert tree(tmp_path / "0.bag" / "data" / "0.ome.zarr") == tree(IMAGE / "0")


@pytest.mark.parametrize("options", [{"to": "zip"}, {"to": "bagit", "ome_version": "0.4"}])
def test_what_cannot_become_a_bag_is_refused(tmp_path, options):
    path = ozx.pack(IMAGE, tmp_path / "cells.ozx", sync=False).path
    with pytest.raises(UsageError):
        ozx.unpack(path, **options)
    assert [each.name for each in tmp_path.iterdir()] == ["cells.ozx"]


def test_the_lines_of_sha256sum_fit_the_unpacked_directory(tmp_path):
    path = ozx.pack(IMAGE, tmp_path / "cells.ozx", sync=False).path
    found = dict(reversed(line.split("  ", 1)) for line in iter_digests(path, "sha256sum"))
    assert found == digests(tree(IMAGE))
    assert found == dict(reversed(line.split("  ", 1)) for line in iter_digests(IMAGE, "sha256sum"))


def test_a_line_of_sha256sum_escapes_a_backslash(tmp_path):
    path = zip_values(tmp_path / "a.zip", {"a\\b": b"1"})
    assert [*iter_digests(path, "sha256sum")] == [f"\\{hashlib.sha256(b'1').hexdigest()}  a\\\\b"]


@pytest.mark.ci  # with a judge from the extra ci
def test_the_tree_checksum_is_that_of_zarr_checksum(tmp_path):
    judge = pytest.importorskip("zarr_checksum")
    for name, values in {
        "image": tree(IMAGE),
        "names": {"zarr.json": b"{}", "é/ü": b"1", "a/b": b"", "a-b/c": b"2", "a/b-c/d": b"345", "B": b"6"},
    }.items():
        path = zip_values(tmp_path / f"{name}.zip", values)
        directory = ozx.unpack(path, sync=False).path
        files = importlib.import_module("zarr_checksum.generators").yield_files_local(directory)
        expected = judge.compute_zarr_checksum(files).digest
        assert [*iter_digests(path, "zarr-checksum")] == [*iter_digests(directory, "zarr-checksum")] == [expected]


def test_the_layout_of_the_bioimage_archive_has_the_digests_of_its_root(tmp_path):
    path = ozx.pack(IMAGE, tmp_path / "cells.ome.zarr.zip", **BIOIMAGE).path
    expected = [*iter_digests(IMAGE, "zarr-checksum")]
    assert [*iter_digests(path, "zarr-checksum")] == expected


def test_an_unknown_kind_of_digests_is_refused(tmp_path):
    with pytest.raises(UsageError, match="expected the digests"):
        iter_digests(IMAGE, "md5")


CREDITS = {"author": ["Ada Byron", "Ñ"], "license": "CC-BY-4.0", "sync": False}


def test_a_crate_says_the_name_license_authors_and_date(tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    path = ozx.pack(IMAGE, tmp_path / "cells.ozx", verify=True, **CREDITS).path
    entities = {each["@id"]: each for each in json.loads(_value(path))["@graph"]}
    dataset = entities["./"]
    assert dataset["name"] == "cells"
    assert inspect(path).name not in _value(path).decode()  # `ozx edit` may change it
    assert dataset["datePublished"] == "1970-01-02"
    assert dataset["license"]["@id"] == "https://spdx.org/licenses/CC-BY-4.0"
    assert [entities[each["@id"]]["name"] for each in dataset["author"]] == CREDITS["author"]
    assert ozx.validate(path).valid


@pytest.mark.ci  # with a judge from the extra ci
@pytest.mark.parametrize("options", [{}, {"layout": "bioimage-archive"}])
def test_the_package_rocrate_reads_the_crate_of_an_unpacked_file(tmp_path, options):
    rocrate = pytest.importorskip("rocrate.rocrate")
    path = ozx.pack(IMAGE, tmp_path / "cells.ome.zarr.zip", **options, **CREDITS).path
    crate = rocrate.ROCrate(ozx.unpack(path, sync=False).path)
    assert crate.root_dataset["license"].id == "https://spdx.org/licenses/CC-BY-4.0"
    assert [person["name"] for person in crate.root_dataset["author"]] == CREDITS["author"]


def test_verbs_keep_the_crate(tmp_path):
    path = ozx.pack(IMAGE, tmp_path / "cells.ozx", **CREDITS).path
    crate = _value(path)
    ozx.edit(path, name="other")
    ozx.repack(path, tmp_path / "repacked.ozx", shards="auto")
    ozx.extract(path, tmp_path / "small.ozx", region={"x": (0, 8)})
    assert {_value(tmp_path / name) for name in ("cells.ozx", "repacked.ozx", "small.ozx")} == {crate}


def test_a_crate_of_the_source_is_kept_and_never_replaced(tmp_path):
    first = ozx.pack(IMAGE, tmp_path / "cells.ozx", **CREDITS).path
    directory = ozx.unpack(first, sync=False).path
    assert _value(ozx.pack(directory, tmp_path / "again.ozx").path) == _value(first)
    with pytest.raises(UsageError, match="already"):
        ozx.pack(directory, tmp_path / "other.ozx", **CREDITS)


@pytest.mark.parametrize("options", [{"author": "Ada"}, {"license": ""}, {"author": [""], "license": "MIT"}])
def test_credits_without_a_license_or_a_name_are_refused(tmp_path, options):
    with pytest.raises(UsageError, match=r"expected .*license"):
        ozx.pack(IMAGE, tmp_path / "cells.ozx", **options)
    assert list(tmp_path.iterdir()) == []


def test_an_error_of_the_root_names_the_source_of_a_crate(tmp_path):
    (tmp_path / "a.ome.zarr").mkdir()
    (tmp_path / "a.ome.zarr" / "zarr.json").write_bytes(b"{")
    with pytest.raises(FormatError, match=r"a\.ome\.zarr: zarr\.json: expected JSON"):
        ozx.pack(tmp_path / "a.ome.zarr", **CREDITS)


def _value(path) -> bytes:
    return b"".join(read_value(path, CRATE))
