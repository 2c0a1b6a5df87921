"""`ozx validate` as a user meets it."""

import json
import subprocess
import sys

import jsonschema
import pytest
from builders import ArchiveBuilder, group, write_tree
from hierarchies import FIXTURES
from packed import pack_tree

from ozx.cli.app import run
from ozx.validation.rules import RULES
from ozx.validation.validate import validate

SCHEMA = json.loads((FIXTURES.parent / "src/ozx/schemas/validate.json").read_bytes())
IMAGE = FIXTURES / "image.ome.zarr"
LEGACY = FIXTURES / "legacy.ome.zarr"


def check(capsys, *arguments):
    code = run(["validate", *map(str, arguments)])
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    return code, captured.out, captured.err


@pytest.fixture
def warned(tmp_path):
    """A file with warnings, but no errors."""
    return ArchiveBuilder.valid().with_(comment=b"").write(tmp_path / "warned.ozx")


@pytest.fixture
def wrong(tmp_path):
    """A file with two errors of one rule and a warning."""
    return ArchiveBuilder.valid().add("../x").add("/y").with_(comment=b"").write(tmp_path / "wrong.ozx")


def test_a_valid_file_is_one_line(tmp_path, capsys):
    path = pack_tree(FIXTURES / "sharded.ome.zarr", tmp_path / "a.ozx")
    assert check(capsys, path) == (0, f"{path}: valid\n", "")


def test_findings_are_readable(wrong, capsys):
    code, out, err = check(capsys, wrong)
    assert code == 1
    assert out.splitlines() == [
        f"{wrong}: not valid: 2 errors, 1 warning",
        "  error    zip/name  in ../x",
        "           entry name '../x' is refused: it has a '..' component",
        f"           hint: {RULES['zip/name'].mend}",
        "  error    zip/name  in /y",
        "           entry name '/y' is refused: it is absolute",
        "  warning  rfc9/comment",
        "           there is no archive comment",
        f"           hint: {RULES['rfc9/comment'].mend}",
    ]
    assert err == "what a finding means: ozx rules ID\n"


def test_where_names_pointer_and_offset(tmp_path, capsys):
    builder = ArchiveBuilder.valid().value("0/zarr.json", group("0.4")).with_(suffix=b"x")
    _, out, _ = check(capsys, builder.write(tmp_path / "a.ozx"))
    assert "rfc9/one-hierarchy  in 0/zarr.json#/attributes/ome/version" in out
    assert "zip/trailing-bytes  at byte " in out


def test_names_in_a_file_cannot_steer_the_terminal(tmp_path, capsys):
    path = ArchiveBuilder.valid().add("a\x1b[2J/../\nb").write(tmp_path / "a.ozx")
    _, out, _ = check(capsys, path)
    assert "\x1b" not in out
    assert "a\\x1b[2J/../\\nb" in out


@pytest.mark.parametrize(
    ("names", "strict", "code"),
    [
        (["valid"], True, 0),
        (["warned"], False, 0),
        (["warned"], True, 3),
        (["warned", "wrong"], True, 1),
        (["valid", "wrong"], False, 1),
        (["wrong", "missing", "valid"], False, 4),
        (["missing"], True, 4),
    ],
)
def test_exit_codes(names, strict, code, tmp_path, warned, wrong, capsys):
    paths = {
        "valid": pack_tree(IMAGE, tmp_path / "valid.ozx"),
        "warned": warned,
        "wrong": wrong,
        "missing": tmp_path / "missing.ozx",
    }
    found, out, err = check(capsys, *(paths[name] for name in names), *(["--strict"] if strict else []))
    assert found == code
    assert out.count("valid") >= len([name for name in names if name != "missing"])
    assert ("missing.ozx: " in err) == ("missing" in names)


def test_a_directory_and_a_file(capsys, tmp_path):
    code, out, err = check(capsys, IMAGE, LEGACY)
    assert code == 1
    assert f"{IMAGE}: valid: 1 note" in out
    assert f"{LEGACY}: not valid: 1 error" in out
    assert "ozx repack" in out
    assert "2 checked: 1 valid, 1 not valid" in err


def test_json_is_the_library_s_answer_and_fits_its_schema(wrong, warned, tmp_path, capsys):
    write_tree(tmp_path / "d.zarr", {"zarr.json": b"{", "x.zip": b""})
    broken = ArchiveBuilder.valid().value("0/zarr.json", group("9")).with_(suffix=b"x").write(tmp_path / "broken.ozx")
    paths = [wrong, warned, tmp_path / "d.zarr", broken, IMAGE]
    code, out, err = check(capsys, *paths, "--json")
    answer = json.loads(out)
    jsonschema.validate(answer, SCHEMA, jsonschema.Draft202012Validator)
    assert answer == {"schema": 1, "files": [validate(str(path)).to_dict() for path in paths]}
    assert (code, err) == (1, "")
    assert [entry["valid"] for entry in answer["files"]] == [False, True, False, False, True]


def test_json_leaves_out_what_cannot_be_read(tmp_path, capsys):
    code, out, err = check(capsys, tmp_path / "missing.ozx", "--json")
    assert (code, json.loads(out)) == (4, {"schema": 1, "files": []})
    assert "missing.ozx" in err


def test_names_that_are_no_text_are_json(tmp_path, capsys):
    path = ArchiveBuilder.valid().add(b"\xff\xfe").write(tmp_path / "a.ozx")
    command = [sys.executable, "-m", "ozx", "validate", str(path), "--json"]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 1
    answer = json.loads(done.stdout)
    jsonschema.validate(answer, SCHEMA, jsonschema.Draft202012Validator)
    assert answer["files"][0]["findings"][0]["id"] == "zip/name"


def test_profile_strict(tmp_path, capsys):
    path = ArchiveBuilder.valid().deflate("0/c/0").write(tmp_path / "a.ozx")
    assert check(capsys, path)[0] == 0
    assert check(capsys, path, "--profile", "strict")[0] == 1
    code, _, err = check(capsys, path, "--profile", "loose")
    assert code == 2
    assert "rfc9" in err


def test_nothing_to_validate_is_a_wrong_command_line(capsys):
    assert check(capsys)[0] == 2
