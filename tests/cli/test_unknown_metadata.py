"""Versions and keys of the comment that ozx does not understand: never valid, never silent."""

import json
import warnings

import pytest
from hierarchies import FIXTURES, tree
from packed import sort_values, write_archive

import ozx
from ozx.cli.app import run
from ozx.errors import OzxWarning, UnsupportedError

IMAGE = FIXTURES / "image.ome.zarr"
KEYS = b'{"ome":{"version":"0.5","root":"inner/","zipFile":{"centralDirectory":{"jsonFirst":true,"by":"x"}}},"lab":1}'
NAMED = "keys that ozx does not understand: ome.root, ome.zipFile.centralDirectory.by"


def of_version(version):
    """Return the values of the image with another OME-Zarr version in each group."""
    values = tree(IMAGE)
    for key, value in values.items():
        if key.endswith("zarr.json") and "ome" in (document := json.loads(value))["attributes"]:
            document["attributes"]["ome"]["version"] = version
            values[key] = json.dumps(document).encode()
    return values


@pytest.fixture
def commented(tmp_path):
    return write_archive(tmp_path / "a.ozx", sort_values(tree(IMAGE)), KEYS)


@pytest.fixture
def unknown(tmp_path):
    return write_archive(tmp_path / "b.ozx", sort_values(of_version("0.7")))


@pytest.mark.parametrize(
    "line",
    [
        "info {}",
        "info {}|zip:labels/",
        "ls {}",
        "cat {} zarr.json",
        "unpack {} {}.zarr",
        "unpack {}|zip:labels/ {}.zarr",
        "repack {} {}.new.ozx",
        "extract {} {}.new.ozx --path labels/cells",
        "recover {} {}.new.ozx",
        "edit {} --name nuclei",
        "thumbnail {} {}.png",
        "export {} {}.ome.tif --levels 2:",
    ],
)
def test_each_reader_warns_once_of_unknown_keys_in_the_comment(commented, capfd, line):
    assert run(line.replace("{}", str(commented)).split()) == 0
    _, err = capfd.readouterr()
    assert err.count("warning: ") == err.count(NAMED) == 1
    assert "comment.py" not in err


def test_the_library_warns_of_unknown_keys_in_the_comment(commented):
    with pytest.warns(OzxWarning, match=NAMED):
        ozx.open(commented)
    with pytest.warns(OzxWarning, match=NAMED):
        assert "ome.root" in ozx.inspect(commented).notes[0]


@pytest.mark.parametrize("comment", [b"", b"{", b'{"ome": 1}', b'{"ome":{"version":"0.5"},"root":"inner/"}'])
def test_other_comments_do_not_warn(tmp_path, comment):
    path = write_archive(tmp_path / "a.ozx", sort_values(tree(IMAGE)), comment)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ozx.open(path)["0"].shape == (2, 256, 256)
        ozx.inspect(path)


@pytest.mark.parametrize("revision", ["all", "r2", "draft"])
def test_validate_offers_no_command_that_drops_the_keys(commented, revision):
    commented.write_bytes(b"x" + commented.read_bytes())  # another finding, for which ozx repack is the usual advice
    found = ozx.validate(commented, revision=revision).findings
    assert {"zip/prepended-bytes"} <= {finding.id for finding in found}
    assert not [finding.hint for finding in found if "ozx repack" in finding.hint or "ozx edit" in finding.hint]


def test_metadata_of_an_unknown_version_is_not_valid_even_with_quiet(unknown, capsys):
    assert run(["validate", "-q", str(unknown)]) == 1
    assert 'not checked: unknown OME-Zarr version "0.7"' in capsys.readouterr().out
    report = ozx.validate(unknown)
    assert not report
    assert report.looked_at["metadata"] == "some"
    assert {finding.id for finding in report.findings if finding.severity == "error"} == {"ome/unknown-version"}


@pytest.mark.parametrize("version", ["0.5-dev", "0.5.1", " 0.5", "latest", "", 0.5, None, "0.6rc", "0.4"])
def test_no_odd_version_is_valid(tmp_path, version):
    assert not ozx.validate(write_archive(tmp_path / "a.ozx", sort_values(of_version(version))))


@pytest.mark.parametrize("version", ["0.6.dev4", "0.6rc0", "0.9.dev3"])
def test_drafts_are_named_and_not_unknown(tmp_path, version):
    found = ozx.validate(write_archive(tmp_path / "a.ozx", sort_values(of_version(version)))).findings
    assert "ome/draft-version" in {finding.id for finding in found}
    assert "ome/unknown-version" not in {finding.id for finding in found}


def test_a_version_in_the_comment_alone_does_not_count(tmp_path):
    path = write_archive(tmp_path / "a.ozx", sort_values(tree(IMAGE)), b'{"ome":{"version":"0.7"}}')
    report = ozx.validate(path)
    assert report
    assert "rfc9/comment-version" in {finding.id for finding in report.findings}


def test_a_version_below_the_root_counts(tmp_path):
    values = tree(IMAGE) | {"labels/cells/zarr.json": of_version("0.7")["labels/cells/zarr.json"]}
    found = ozx.validate(write_archive(tmp_path / "a.ozx", sort_values(values))).findings
    errors = {(finding.id, finding.where.entry) for finding in found if finding.severity == "error"}
    assert errors == {(rule, "labels/cells/zarr.json") for rule in ("rfc9/one-hierarchy", "ome/unknown-version")}


@pytest.mark.parametrize(
    "line", ["pack {}.zarr {}.new.ozx", "repack {} {}.new.ozx", "extract {} {}.new.ozx --levels 0:"]
)
def test_metadata_of_an_unknown_version_is_copied_with_a_warning(unknown, capsys, line):
    assert run(["unpack", str(unknown), f"{unknown}.zarr"]) == 0
    capsys.readouterr()
    assert run(line.replace("{}", str(unknown)).split()) == 0
    assert "warning: OME-Zarr 0.7 is unknown: its metadata was not checked" in capsys.readouterr().err
    assert (
        json.loads(b"".join(ozx.read_value(f"{unknown}.new.ozx", "zarr.json")))["attributes"]["ome"]["version"] == "0.7"
    )


def test_metadata_of_an_unknown_version_is_described_but_not_edited(unknown):
    assert "OME-Zarr 0.7 is unknown: its metadata was not checked" in ozx.inspect(unknown).notes
    with pytest.raises(UnsupportedError, match=r"expected OME-Zarr 0.5 or 0.6 to edit; found version 0.7$"):
        ozx.edit(unknown, name="nuclei")
