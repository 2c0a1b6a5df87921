"""`ozx validate` as a user meets it."""

import json
import subprocess
import sys

import jsonschema
import pytest
from cases.archive_builder import ArchiveBuilder, group, write_tree
from commands import command, schema_of
from hierarchies import FIXTURES, tree
from packed import pack_tree

from ozx.validation.rules.table import RULES

SCHEMA = schema_of("validate")
IMAGE = FIXTURES / "image.ome.zarr"
LEGACY = FIXTURES / "legacy.ome.zarr"
check = command("validate")
NOT_READ = "structure, but not the pixels; give --level data to check them, too"


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
    assert check(capsys, path) == (0, f"{path}: valid: {NOT_READ}\n", "")
    assert check(capsys, path, "--level", "data") == (0, f"{path}: valid: everything was read\n", "")
    only_zip = "structure of the ZIP file, but neither metadata nor pixels; give --level data to check them, too"
    assert check(capsys, path, "--level", "archive") == (0, f"{path}: valid: {only_zip}\n", "")


def test_pixels_that_could_not_be_looked_at_do_not_count_as_read(tmp_path, capsys):
    for name, made in (
        ("cut.ozx", ArchiveBuilder.valid().build()[:-1]),
        ("x.ozx", ArchiveBuilder.valid().add("../x").build()),
    ):
        path = tmp_path / name
        path.write_bytes(made)
        _, out, _ = check(capsys, path, "--level", "data", "--json")
        assert json.loads(out)["files"][0]["looked_at"]["pixels"] == "some"


def test_findings_are_readable(wrong, capsys):
    code, out, err = check(capsys, wrong)
    assert code == 1
    assert out.splitlines() == [
        f"{wrong}: not valid: 2 errors, 1 warning",
        "  /y: 1 error",
        "    error    zip/name",
        "             entry name '/y' is refused: it is absolute",
        f"             hint: {RULES['zip/name'].repair}",
        "  ../x: 1 error",
        "    error    zip/name",
        "             entry name '../x' is refused: it has a '..' component",
        "  the file as a whole: 1 warning",
        "    warning  rfc9/comment",
        "             there is no archive comment",
        f"             hint: {RULES['rfc9/comment'].repair}",
    ]
    assert err == "to explain a finding: ozx rules ID\n"


def test_where_names_pointer_and_offset(tmp_path, capsys):
    builder = ArchiveBuilder.valid().value("0/zarr.json", group("0.4")).with_(suffix=b"x")
    _, out, _ = check(capsys, builder.write(tmp_path / "a.ozx"))
    assert "  0: 2 errors\n    error    rfc9/one-hierarchy  in zarr.json#/attributes/ome/version\n" in out
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
    old = pack_tree(LEGACY, tmp_path / "old.ozx")
    code, out, err = check(capsys, IMAGE, LEGACY, old)
    assert code == 1
    assert f"{IMAGE}: valid: {NOT_READ} (1 note)" in out
    assert f"{LEGACY}: valid: {NOT_READ} (1 note)" in out
    assert f"{old}: not valid: 1 error" in out
    assert "ozx repack" in out
    assert f"3 checked: 2 valid, 1 not valid; {NOT_READ}" in err


def test_json_leaves_out_what_cannot_be_read(tmp_path, capsys):
    code, out, err = check(capsys, tmp_path / "missing.ozx", "--json")
    assert (code, json.loads(out)) == (4, {"schema": 2, "files": []})
    assert "missing.ozx" in err


def test_names_that_are_no_text_are_json(tmp_path, capsys):
    path = ArchiveBuilder.valid().add(b"\xff\xfe").write(tmp_path / "a.ozx")
    command = [sys.executable, "-m", "ozx", "validate", str(path), "--json"]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 1
    answer = json.loads(done.stdout)
    jsonschema.validate(answer, SCHEMA, jsonschema.Draft202012Validator)
    assert answer["files"][0]["findings"][0]["id"] == "zip/name"


def test_nodes_are_shown_together_and_the_worst_first(tmp_path, capsys):
    values = tree(IMAGE)
    root = json.loads(values["zarr.json"])
    root["attributes"]["ome"]["multiscales"][0].pop("name")
    root["attributes"]["ome"]["multiscales"][0]["axes"].pop()
    label = json.loads(values["labels/cells/zarr.json"])
    label["attributes"]["ome"]["multiscales"][0]["datasets"][0]["path"] = "elsewhere"
    values |= {"zarr.json": json.dumps(root).encode(), "labels/cells/zarr.json": json.dumps(label).encode()}
    code, out, _ = check(capsys, write_tree(tmp_path / "a.zarr", values))
    titles = [line.strip() for line in out.splitlines() if line.startswith("  ") and line[2] != " "]
    assert code == 1
    assert [title.partition(":")[0] for title in titles[:2]] == ["the root", "labels/cells"]
    first = out.index("ome/level-missing")
    assert out.index("error    ome/axes-count") < out.index("warning  ome/image-name") < first


def test_many_of_a_kind_are_counted(tmp_path, capsys):
    builder = ArchiveBuilder.valid()
    for number in range(30):
        builder.add(f"../{number}")
    _, out, _ = check(capsys, builder.write(tmp_path / "a.ozx"))
    assert out.count("error    zip/name") == 5
    assert out.splitlines()[-1] == "  zip/name: 25 more of the same; --json lists more"


@pytest.mark.ci
def test_several_at_a_time(tmp_path, wrong, warned, capsys):
    paths = [wrong, tmp_path / "missing.ozx", warned, IMAGE]
    one = check(capsys, *paths)
    assert one[0] == 4
    two = check(capsys, *paths, "--jobs", "2")  # in the order in which the checks end
    assert [sorted(str(part).splitlines()) for part in two] == [sorted(str(part).splitlines()) for part in one]


def test_a_second_opinion(tmp_path, capsys):
    values = tree(IMAGE)
    label = json.loads(values["labels/cells/zarr.json"])
    label["attributes"]["ome"]["image-label"] = {"colors": [{"label-value": 1}]}
    path = write_tree(tmp_path / "a.zarr", values | {"labels/cells/zarr.json": json.dumps(label).encode()})
    assert "ome/second-opinion" in check(capsys, path)[1]
    assert "ome/second-opinion" not in check(capsys, path, "--no-second-opinion")[1]


def test_schemas_of_conventions(tmp_path, capsys):
    url = "https://example.org/proj/v1/schema.json?a=b"
    attributes = {"zarr_conventions": [{"schema_url": url, "name": "proj:"}], "proj:code": 4326}
    document = {"zarr_format": 3, "node_type": "group", "attributes": {"ome": {"version": "0.5"}, **attributes}}
    path = write_tree(tmp_path / "a.zarr", {"zarr.json": json.dumps(document).encode()})
    schema = tmp_path / "schema.json"
    schema.write_text('{"properties": {"proj:code": {"type": "string"}}}')
    assert check(capsys, path)[0] == 0
    code, out, _ = check(capsys, path, "--schema", f"{url}={schema}")
    assert code == 1
    assert "conventions/schema  in zarr.json#/attributes/proj:code" in out
    for wrong in (str(schema), f"{url}=", f"={schema}"):
        code, _, err = check(capsys, path, "--schema", wrong)
        assert code == 2
        assert "expected URL=FILE" in err
    assert check(capsys, path, "--schema", f"{url}={tmp_path / 'missing.json'}")[0] == 4
    schema.write_text('{"$ref": "https://example.org/other.json"}')
    code, _, err = check(capsys, path, "--schema", f"{url}={schema}")
    assert code == 2
    assert "refers to https://example.org/other.json, which is not given" in err
