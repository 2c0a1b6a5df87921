"""`--log` and `--retry-failed` as a user meets them."""

import json
import os
import platform
import shutil

import pytest
from commands import command
from hierarchies import make_image
from tiffs import pixels, write

from ozx.file_changes import changed
from ozx.operations import pack

ozx = command()


def lines_of(path):
    return [json.loads(text) for text in path.read_text().splitlines()]


@pytest.fixture
def images(here):
    """Three images, the second of which is damaged."""
    names = [f"{letter}.ome.zarr" for letter in "abc"]
    for name in names:
        make_image(here / name)
    (here / "b.ome.zarr" / "zarr.json").write_bytes(b"{")
    return names


def test_a_line_for_each_file_and_a_second_run_for_the_failures(capsys, here, images):
    code, _, _ = ozx(capsys, "pack", *images, "--out-dir", "out", "--checksum", "sha256", "--log", "run.jsonl")
    assert code == 3
    first, second, third = lines_of(here / "run.jsonl")
    assert [each["exit"] for each in (first, second, third)] == [0, 1, 0]
    assert (first["source"], first["output"]) == (str(here / "a.ome.zarr"), str(here / "out" / "a.ozx"))
    assert first["bytes"] == os.path.getsize(here / "out" / "a.ozx")
    assert first["sha256"] == (here / "out" / "a.ozx.sha256").read_text().split()[0]
    assert first["options"] == {"out_dir": "out", "checksum": "sha256"}
    assert first["host"] == platform.node()
    assert first["run"] == third["run"]
    assert (second["status"], second["error"]["code"]) == ("failed", "format")

    shutil.rmtree(here / "b.ome.zarr")
    make_image(here / "b.ome.zarr")
    code, out, err = ozx(capsys, "pack", "--retry-failed", "run.jsonl")
    assert (code, out) == (2, "")
    assert f"hint: Give --out-dir {here / 'out'}, or another folder." in err
    code, out, _ = ozx(capsys, "pack", "--retry-failed", "run.jsonl", "--out-dir", "other")
    assert code == 0
    assert out.startswith(f"other{os.sep}b.ozx  ")
    code, out, _ = ozx(capsys, "pack", "--retry-failed", "run.jsonl", "--out-dir", "out", "--log", "run.jsonl")
    assert code == 0
    assert out.startswith(f"out{os.sep}b.ozx  ")
    assert len(lines_of(here / "run.jsonl")) == 4
    code, out, err = ozx(capsys, "pack", "--retry-failed", "run.jsonl", "--out-dir", "out")
    assert (code, out) == (0, "")
    assert "note: run.jsonl lists no failed source; " in err


def test_a_retry_takes_files_that_are_complete_meanwhile(capsys, here, images):
    ozx(capsys, "pack", *images, "--out-dir", "out", "--log", "run.jsonl")
    shutil.rmtree(here / "b.ome.zarr")
    make_image(here / "b.ome.zarr")
    assert ozx(capsys, "pack", "b.ome.zarr", "--out-dir", "out")[0] == 0
    code, out, _ = ozx(capsys, "pack", "--retry-failed", "run.jsonl", "--out-dir", "out", "--log", "run.jsonl")
    assert (code, "complete already" in out) == (0, True)
    assert [each["status"] for each in lines_of(here / "run.jsonl")] == ["packed", "failed", "packed", "skipped"]

    write(here / "x.tif", pixels((30, 40)))
    write(here / "y.tif", pixels((30, 40)))
    assert ozx(capsys, "import", "x.tif", "--out-dir", "out")[0] == 0
    assert ozx(capsys, "import", "x.tif", "y.tif", "--out-dir", "out", "--log", "run.jsonl")[0] == 3
    code, out, _ = ozx(capsys, "import", "--retry-failed", "run.jsonl", "--out-dir", "out")
    assert (code, "complete already" in out) == (0, True)


def test_a_source_that_changes_has_a_code_of_its_own(capsys, here, images, monkeypatch):
    def write_archive(*_):
        raise changed("a.ome.zarr/0/c/0")

    monkeypatch.setattr(pack, "write_archive", write_archive)
    code, _, err = ozx(capsys, "pack", images[0], "--out-dir", "out", "--log", "run.jsonl")
    assert (code, "then try again" in err) == (3, True)
    (line,) = lines_of(here / "run.jsonl")
    assert (line["exit"], line["error"]["code"]) == (1, "changed")


def test_what_is_verified_is_no_second_output(capsys, here, images):
    ozx(capsys, "pack", images[0], "--out-dir", "out", "--manifest", "--log", "run.jsonl")
    assert ozx(capsys, "verify", "out/a.ozx", "--log", "run.jsonl")[0] == 0
    _, verified = lines_of(here / "run.jsonl")
    assert (verified["status"], verified["output"], verified["bytes"]) == ("verified", None, None)


def test_a_single_file_is_logged_too_and_its_error(capsys, here, images):
    assert ozx(capsys, "pack", images[0], "one.ozx", "--log", "run.jsonl")[0] == 0
    assert ozx(capsys, "pack", images[1], "two.ozx", "--log", "run.jsonl")[0] == 1
    assert ozx(capsys, "pack", images[0], "one.ozx", "--log", "run.jsonl")[0] == 2
    assert [(each["exit"], each["status"]) for each in lines_of(here / "run.jsonl")] == [
        (0, "packed"),
        (1, "failed"),
        (2, "failed"),
    ]


def test_import_and_validate(capsys, here):
    write(here / "a.tif", pixels((30, 40)))
    (here / "b.tif").write_bytes(b"II*\0")
    assert ozx(capsys, "import", "a.tif", "b.tif", "--out-dir", "out", "--log", "run.jsonl", "--json")[0] == 3
    (here / "out" / "b.ozx").write_bytes(b"PK")
    assert ozx(capsys, "validate", "out/a.ozx", "out/b.ozx", "out/c.ozx", "--log", "run.jsonl")[0] == 4
    found = [(each["verb"], each["status"], each["exit"], each["output"]) for each in lines_of(here / "run.jsonl")]
    assert found == [
        ("import", "imported", 0, str(here / "out" / "a.ozx")),
        ("import", "failed", 1, str(here / "out" / "b.ozx")),
        ("validate", "valid", 0, None),
        ("validate", "not valid", 1, None),
        ("validate", "not read", 4, None),
    ]
    code, out, _ = ozx(capsys, "validate", "--retry-failed", "run.jsonl", "--quiet")
    assert code == 4
    assert "not valid" in out


def test_wrong_calls(capsys, here, images):
    code, _, err = ozx(capsys, "pack", images[0], "--retry-failed", "run.jsonl")
    assert code == 2
    assert "expected either sources or --retry-failed; got both" in err
    code, _, err = ozx(capsys, "pack", "--retry-failed", "run.jsonl")
    assert code == 4
    assert "run.jsonl: No such file" in err
    code, _, err = ozx(capsys, "pack", *images, "--log", "missing/run.jsonl")
    assert code == 4
    assert sorted(os.listdir(here)) == images
