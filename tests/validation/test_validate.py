"""`validate` on files and directories: everything becomes a finding, nothing is raised for a fault of format."""

import json
import os
import struct

import pytest
import zarr
from cases.archive_builder import ArchiveBuilder, array, group, write_tree
from hierarchies import FIXTURES, HIERARCHIES
from links import make_link
from packed import pack_tree, zip_values
from servers import serving

import ozx
from ozx.archive.reader import ArchiveReader
from ozx.errors import OzxError, ResourceError, UsageError
from ozx.places.byte_source import MemorySource
from ozx.validation.container import zip as zip_rules
from ozx.validation.hierarchy import Options
from ozx.validation.report import Finding, Report, Where
from ozx.validation.validate import check_archive, validate


def ids(report):
    return [finding.id for finding in report.findings]


def check(archive, *, strict=False):
    data = archive.build() if isinstance(archive, ArchiveBuilder) else archive
    return list(check_archive(ArchiveReader(MemorySource(data)), Options(plain_only=strict)))


@pytest.mark.parametrize("profile", ["rfc9", "strict"])
@pytest.mark.parametrize("name", HIERARCHIES)
def test_what_ozx_writes_is_valid(name, profile, tmp_path):
    report = validate(pack_tree(FIXTURES / f"{name}.ome.zarr", tmp_path / "out.ozx"), profile=profile)
    assert (report.level, report.container) == ("hierarchy", "zip")
    assert report.valid
    assert set(ids(report)) <= {"rfc9/sharding"}
    assert report.count("warning") == 0
    assert (name == "sharded") == (report.findings == ())


@pytest.mark.parametrize("name", HIERARCHIES)
def test_directories_are_held_to_the_rules_about_hierarchies(name):
    report = validate(FIXTURES / f"{name}.ome.zarr")
    assert (report.level, report.container) == ("hierarchy", "directory")
    assert report.valid
    assert set(ids(report)) <= {"rfc9/sharding"}


@pytest.mark.parametrize(
    ("comment", "strict", "severities"),
    [
        (b"by hand", False, ["warning", "warning"]),
        (b"by hand", True, ["error", "error"]),
        (b"", True, ["error", "warning"]),
    ],
)
def test_strict_turns_recommendations_into_errors(comment, strict, severities):
    found = check(ArchiveBuilder.valid().deflate("0/c/0").with_(comment=comment), strict=strict)
    assert sorted(finding.severity for finding in found) == severities


@pytest.mark.parametrize("level", ["archive", "data"])
def test_a_wrong_number_of_jobs(level):
    with pytest.raises(UsageError, match="expected at least 1 job; got -1"):
        validate("anything", level=level, jobs=-1)


def test_a_url_without_a_file_is_raised():
    pytest.importorskip("obstore", reason="the extra remote is not installed")
    with serving(b"") as server, pytest.raises(ResourceError):
        server.failures = [404] * 20
        validate(server.url)


@pytest.mark.posix("named pipes are POSIX only")
def test_what_is_no_file_is_a_finding(tmp_path):
    os.mkfifo(tmp_path / "a.ozx")
    assert ids(validate(tmp_path / "a.ozx")) == ["zip/special-file"]


def test_a_truncated_file_is_a_finding_wherever_it_ends():
    data = ArchiveBuilder.valid().build()
    for length in range(len(data)):
        found = check(data[:length])
        assert found, length
        assert any(finding.severity == "error" for finding in found), length
    assert check(data) == []


@pytest.mark.ci
def test_damage_in_the_records_is_no_other_exception():
    """Fields of the directory and of the end records, replaced by the values that break arithmetic."""
    data = ArchiveBuilder.valid().add("x", b"").build()
    start = data.index(b"PK\x01\x02")
    for position in range(start, len(data) - 4):
        for value in (b"\xff\xff\xff\xff", b"\0\0\0\0", b"\xfe\xff\xff\xff", b"\xff\xff\xff\x7f"):
            check(data[:position] + value + data[position + 4 :])
        if position < len(data) - 8:
            check(data[:position] + b"\xff" * 8 + data[position + 8 :])


def test_a_directory_that_lies_about_sizes_takes_no_memory():
    huge = struct.pack("<2H2Q", 1, 16, 1 << 62, 1 << 62)
    sentinel = {"compressed": 0xFFFFFFFF, "uncompressed": 0xFFFFFFFF, "extra": huge}
    found = check(ArchiveBuilder.valid().set("zarr.json", central=sentinel))
    assert {finding.id for finding in found} == {"zip/bounds", "zip/large-entry"}


def test_a_document_beyond_measure_is_not_read():
    size = 65 << 20
    builder = ArchiveBuilder.valid().deflate("zarr.json")
    builder.set("zarr.json", local={"uncompressed": size}, central={"uncompressed": size})
    assert {finding.id for finding in check(builder)} == {"zip/bomb", "zarr/json", "rfc9/stored"}


def test_a_damaged_entry_hides_no_finding_about_others():
    builder = ArchiveBuilder.valid().set("0/c/0", central={"offset": 1 << 30}).add("../x").with_(comment=b"")
    builder.value("0/zarr.json", b"{")
    assert {finding.id for finding in check(builder)} == {"zip/bounds", "zip/name", "zarr/json", "rfc9/comment"}


def test_files_are_looked_for_in_a_damaged_archive_too():
    collection = {"ome": {"version": "0.5", "bioformats2raw.layout": 3}}
    builder = ArchiveBuilder.valid().value("zarr.json", group(attributes=collection))
    builder.set("0/c/0", local={"uncompressed": 9}, central={"uncompressed": 9999, "compressed": 9999})
    found = {finding.id for finding in check(builder)}
    assert {"zip/bounds", "ome/ome-xml"} <= found
    with_file = check(builder.add("OME/METADATA.ome.xml", b"<OME/>"))
    assert found - {finding.id for finding in with_file} == {"ome/ome-xml"}


def test_an_unreadable_root_is_said_once():
    found = check(ArchiveBuilder.valid().set("zarr.json", flags=1))
    assert [(finding.id, finding.where.entry) for finding in found] == [("zip/encrypted", "zarr.json")]


def test_very_many_entries_are_a_warning(monkeypatch):
    for limit, severity in (("MANY_ENTRIES", "note"), ("TOO_MANY_ENTRIES", "warning")):
        monkeypatch.setattr(zip_rules, limit, 3)
        (finding,) = check(ArchiveBuilder.valid())
        assert (finding.id, finding.severity) == ("zip/many-entries", severity)


def test_a_bomb_of_many_small_entries(monkeypatch):
    builder = ArchiveBuilder.valid().deflate("0/c/0")
    monkeypatch.setattr(zip_rules, "BOMB_TOTAL", 3)
    assert {finding.id for finding in check(builder)} == {"zip/bomb", "rfc9/stored"}


def test_which_zip64_structures_are_used_is_said():
    (finding,) = check(ArchiveBuilder.valid().with_(zip64_end=False))
    assert finding.severity == "note"
    assert finding.message == (
        "ZIP64 fields are used in 3 local headers and 0 headers of the central directory, "
        "but there is no ZIP64 end record"
    )


def test_a_directory_inside_a_hierarchy_is_a_note():
    report = validate(FIXTURES / "plate.ome.zarr" / "A" / "1")
    assert report.valid
    assert report.findings[0].id == "rfc9/not-embedded"
    assert report.findings[0].severity == "note"


def test_a_folder_of_archives_has_one_finding(tmp_path):
    for name in ("a.ozx", "b 1.ozx", "c.zip"):
        (tmp_path / name).write_bytes(ArchiveBuilder.valid().build())
    (finding,) = validate(tmp_path).findings
    assert finding.id == "rfc9/root"
    assert finding.message.endswith("found 3 archives, such as a.ozx")
    assert finding.hint == f"To check the archives: ozx validate {tmp_path / '*.ozx'} {tmp_path / '*.zip'}"


def test_a_directory_with_a_link_that_leads_out(tmp_path):
    values = {"zarr.json": group(None), "0/zarr.json": array([4], [2]), "._x.zip": b"litter"}
    root = write_tree(tmp_path / "cells.zarr", values)
    make_link(root / "link", tmp_path)
    assert ids(validate(root)) == ["zip/special-file", "rfc9/one-hierarchy"]


def test_a_folder_that_cannot_be_listed_is_an_error_of_the_system(tmp_path, monkeypatch):
    values = {"zarr.json": group(), "0/zarr.json": array([4], [2]), "0/c/0": b"12"}
    scandir = os.scandir

    def fail(path):
        if os.path.basename(os.path.normpath(path)) == "c":
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", fail)
    # What can be no entry ends the first look: the second one goes everywhere else.
    for beside in ({}, {"0/a.ozx": b"another archive"}):
        root = write_tree(tmp_path / str(len(beside)), values | beside)
        with pytest.raises(PermissionError):
            validate(root)


def test_reports_are_sorted_and_say_things_once():
    note = Finding("zip/directory-entry", "note", Where(), "m", "h")
    error = Finding("zip/name", "error", Where("x"), "m", "h")
    report = Report.of("p", "archive", [note, error, note])
    assert report.findings == (error, note)
    assert not report.valid
    assert report.to_dict()["findings"][1]["where"] == {"entry": None}
    assert json.dumps(report.to_dict())


def test_every_read_may_fail(tmp_path):
    """An error of the disk is no finding: it is raised as it is."""

    class Failing(MemorySource):
        left = 0

        def read_at(self, offset, length):
            Failing.left -= 1
            if Failing.left < 0:
                raise OSError(5, "Input/output error")
            return super().read_at(offset, length)

    data = ArchiveBuilder.valid().stream("0/c/0").build()
    for reads in range(50):
        Failing.left = reads
        try:
            found = list(check_archive(ArchiveReader(Failing(data))))
        except OSError as error:
            assert not isinstance(error, OzxError)  # noqa: PT017
        else:
            assert found == []
            return
    pytest.fail("it reads more than 50 times")


def test_of_a_node_the_findings_are_those_below_it_and_those_of_the_file(tmp_path):
    builder = ArchiveBuilder.valid()
    values = {name: entry.value for name, entry in zip(builder.names(), builder.entries, strict=True)}
    values |= {"1/zarr.json": group("0.4"), "2/zarr.json": group("0.3"), "readme.txt": b"x"}
    path = zip_values(tmp_path / "a.ozx", values)
    whole, node = validate(path), validate(f"{path}|zip:1/")
    assert node.path == f"{path}|zip:1/"
    assert {finding.where.entry for finding in node.findings} == {None, "1/zarr.json"}
    assert {finding.where.entry for finding in whole.findings} >= {None, "1/zarr.json", "2/zarr.json"}
    kept = [finding for finding in whole.findings if finding.where.entry in (None, "1/zarr.json")]
    assert list(node.findings) == kept
    assert not node.valid
    assert validate(f"{path}|zip:0/").valid


def test_a_node_that_does_not_exist_is_a_wrong_call_but_a_broken_file_is_a_finding(tmp_path):
    path = ArchiveBuilder.valid().write(tmp_path / "a.ozx")
    with pytest.raises(UsageError, match="no node '9'"):
        validate(f"{path}|zip:9/")
    (tmp_path / "b.ozx").write_bytes(b"no archive")
    assert not validate(f"{tmp_path / 'b.ozx'}|zip:9/").valid


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"multiscales": [{"version": "0.1", "datasets": [{"path": "0"}]}]},
        {"multiscales": [{"version": "0.2", "datasets": [{"path": "0"}]}]},
        {"multiscales": [{"version": "0.3", "axes": ["y", "x"], "datasets": [{"path": "0"}]}]},
    ],
)
def test_validate_and_pack_refuse_the_same_zarr_v2(tmp_path, attributes):
    source = tmp_path / "cells.zarr"
    group = zarr.create_group(source, zarr_format=2, attributes=attributes)
    group.create_array("0", shape=(4, 4), chunks=(4, 4), dtype="uint8")
    report = validate(source)
    errors = [finding for finding in report.findings if finding.severity == "error"]
    (error,) = [finding for finding in errors if finding.id != "ome/unknown-version"]
    with pytest.raises(OzxError) as refusal:
        ozx.pack(source, tmp_path / "a.ozx")
    assert (error.id, error.message, error.hint) == (refusal.value.rule, refusal.value.message, refusal.value.hint)
