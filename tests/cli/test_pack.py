"""`ozx pack` and `ozx unpack` as a user meets them: arguments, words, exit codes."""

import json

import jsonschema
import pytest
from commands import command, schema_of
from hierarchies import make_image, tree

from ozx.flow import source_removal
from ozx.flow.sinks import verification

ozx = command()


@pytest.fixture
def cells(here):
    return make_image(here / "cells.ome.zarr")


@pytest.mark.usefixtures("cells")
def test_json_answers_match_their_schemas_and_stand_alone(capsys, here):
    (here / "cells.ome.zarr" / ".DS_Store").write_bytes(b"")
    (here / "bad.zarr").mkdir()
    code, out, _ = ozx(capsys, "pack", "cells.ome.zarr", "bad.zarr", "--out-dir", "d", "--json", "--checksum", "sha256")
    answer = json.loads(out)
    jsonschema.validate(answer, schema_of("pack"))
    assert code == 3
    assert [one["status"] for one in answer["results"]] == ["packed", "failed"]
    assert answer["results"][0]["left_out"] == [".DS_Store"]
    code, out, _ = ozx(capsys, "unpack", "d/cells.ozx", "--json")
    jsonschema.validate(json.loads(out), schema_of("unpack"))
    assert json.loads(out)["path"] == "d/cells.ome.zarr"


@pytest.mark.usefixtures("cells")
def test_quiet_says_nothing_but_errors(capsys, here):
    (here / "cells.ome.zarr" / ".DS_Store").write_bytes(b"")
    assert ozx(capsys, "pack", "cells.ome.zarr", "-q") == (0, "", "")
    assert ozx(capsys, "unpack", "cells.ozx", "x", "-q") == (0, "", "")
    assert ozx(capsys, "pack", "cells.ome.zarr", "-q")[0] == 2


@pytest.mark.usefixtures("cells")
def test_the_story_is_told_on_stderr(capsys, here):
    (here / "cells.ome.zarr" / ".DS_Store").write_bytes(b"")
    (here / "cells.ome.zarr" / "nothing").mkdir()
    _, out, err = ozx(capsys, "pack", "cells.ome.zarr", "cells.zip")
    assert "left out: .DS_Store\n" in err
    assert "left out: nothing/ (empty)\n" in err
    assert "warning: cells.zip does not end in .ozx" in err
    assert out.count("\n") == 1


def test_resume_and_verify_are_told(capsys, cells):
    ozx(capsys, "pack", cells)
    _, out, _ = ozx(capsys, "pack", cells, "--resume", "--verify")
    assert "complete already, verified" in out
    _, out, _ = ozx(capsys, "pack", cells, "--resume", "--remove-source")
    assert "source removed" in out
    assert not cells.exists()


@pytest.mark.posix("there are no such names")
def test_control_characters_in_names_do_not_reach_the_terminal(capsys, here):
    root = make_image(here / "h")
    (root / "\x1b[2J~").write_bytes(b"")
    _, _, err = ozx(capsys, "pack", root)
    assert "\x1b" not in err
    assert r"\x1b[2J~" in err


def test_a_source_that_changed_is_not_removed_which_gives_4(capsys, cells, monkeypatch):
    original = verification.check_archive

    def late(*arguments):
        original(*arguments)
        (cells / "0" / "c" / "0" / "9").write_bytes(b"late")

    with monkeypatch.context() as patch:
        patch.setattr(verification, "check_archive", late)
        code, out, err = ozx(capsys, "pack", "cells.ome.zarr", "--remove-source", "-q")
    assert (code, out) == (4, "")
    assert "changed while it was packed: 1 thing: 0/c/0/9 is new" in err
    assert "hint: cells.ozx contains the data as ozx read it" in err
    assert len(tree(cells)) == 4
    code, out, _ = ozx(capsys, "pack", "cells.ome.zarr", "--remove-source", "--resume", "--force")
    assert code == 0
    assert out.startswith("cells.ozx  4 entries, ")
    assert out.endswith(", verified, source removed\n")


@pytest.mark.parametrize("quiet", [[], ["-q"]])
def test_what_stays_of_a_source_is_named_and_gives_3(capsys, cells, monkeypatch, quiet):
    original = source_removal.write_marker

    def late(*arguments):
        original(*arguments)
        (cells / "late").write_bytes(b"late")

    monkeypatch.setattr(source_removal, "write_marker", late)
    code, out, err = ozx(capsys, "pack", "cells.ome.zarr", "--remove-source", *quiet)
    assert code == 3
    assert "source removed" not in out
    assert "warning: cells.ome.zarr still exists, with 1 thing: late" in err
    assert tree(cells) == {"late": b"late"}


@pytest.mark.parametrize("quiet", [[], ["-q"]])
def test_what_is_left_out_is_named_where_the_source_is_to_go(capsys, cells, quiet):
    (cells / "labels").mkdir()
    code, _, err = ozx(capsys, "pack", "cells.ome.zarr", "a.ozx", "--remove-source", *quiet)
    assert (code, err) == (0, "left out: labels/ (empty)\n")
    other = make_image(cells.with_name("other.ome.zarr"))
    (other / ".DS_Store").write_bytes(b"x")
    code, _, err = ozx(capsys, "pack", "other.ome.zarr", "--remove-source", *quiet)
    assert code == 2
    assert ".DS_Store would be lost" in err
