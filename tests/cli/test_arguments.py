"""Which of two arguments is the output."""

import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from hierarchies import FIXTURES

from ozx.cli import arguments
from ozx.cli.app import run
from ozx.cli.arguments import check_patterns, expand_patterns, output_of_one
from ozx.errors import UsageError
from ozx.quoting import quote

ENDINGS = (".ozx", ".zip")


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.ozx").mkdir()
    (tmp_path / "there.zarr").mkdir()
    (tmp_path / "there.ozx").touch()


@pytest.mark.parametrize(
    ("first", "last", "is_output"),
    [
        ("a.zarr", "new.ozx", True),
        ("a.zarr", "NEW.OZX", True),
        ("a.zarr", "there.ozx", True),
        ("a.zarr", "new", True),
        ("a.zarr", "new.tmp", True),
        ("a", "b", True),
        ("a.tif", "b.zip", True),
        ("a.zarr", "folder.ozx", False),
        ("a.zarr", "there.zarr", False),
        ("a.zarr", "b.zarr", False),
        ("a.zarr", "b.ZARR/", False),
        ("a", "b.zarr", False),
        ("a.tif", "b.tif", False),
        ("a.TIF", "b.tif", False),
    ],
)
def test_the_second_of_two(first, last, is_output):
    assert output_of_one([first, last], None, ENDINGS) == (last if is_output else None)


def test_neither_of_one_or_three():
    assert output_of_one(["a.ozx"], None, ENDINGS) is None
    assert output_of_one(["a.zarr", "b.zarr", "c.ozx"], "folder", ENDINGS) is None


def test_an_output_and_a_folder_for_outputs():
    with pytest.raises(UsageError, match=r"both an output, new\.ozx, and --out-dir"):
        output_of_one(["a.zarr", "new.ozx"], "folder", ENDINGS)
    assert output_of_one(["a.zarr", "there.zarr"], "folder", ENDINGS) is None


def test_two_words_that_are_the_name_of_one_file(tmp_path):
    (tmp_path / "embryo stack.ome.tif").touch()
    with pytest.raises(UsageError, match=r"embryo and stack\.ome\.tif do not exist") as caught:
        output_of_one(["embryo", "stack.ome.tif"], None, ENDINGS)
    assert caught.value.hint == f"Put a name with blanks in quotes: {quote('embryo stack.ome.tif')}"


@pytest.mark.posix("its shells give quotes no such meaning")
def test_a_pattern_in_quotes(tmp_path):
    (tmp_path / "day 2").mkdir()
    (tmp_path / "day 2" / "a.tif").touch()
    with pytest.raises(UsageError, match=r"expected files; got the pattern day 2/\*\.tif") as caught:
        check_patterns(["day 2/*.tif"])
    assert caught.value.hint.endswith("write the pattern outside of quotes: 'day 2'/*.tif")


class TestPatterns:
    """Patterns that a shell of Windows leaves to the program."""

    @pytest.fixture(autouse=True)
    def _files(self):
        for name in ("g1.ozx", "g[1].ozx", "g2.ozx", "$HOME"):
            open(name, "w").close()

    def test_windows_expands_stars_and_question_marks(self, monkeypatch):
        monkeypatch.setattr(arguments, "os", SimpleNamespace(name="nt", path=os.path))
        assert expand_patterns(["g?.ozx", "x.ozx"]) == ["g1.ozx", "g2.ozx", "x.ozx"]
        assert expand_patterns(["g[1].*"]) == ["g[1].ozx"]
        assert expand_patterns(["no*.ozx"]) == ["no*.ozx"]

    @pytest.mark.parametrize("name", ["g[1].ozx", "g[12].ozx", "$HOME", "%HOME%", "~", "s3://bucket/g?.ozx"])
    def test_windows_takes_all_else_as_written(self, monkeypatch, name):
        monkeypatch.setattr(arguments, "os", SimpleNamespace(name="nt", path=os.path))
        assert expand_patterns([name]) == [name]

    @pytest.mark.posix("its shell has expanded them")
    def test_posix_leaves_patterns_to_the_shell(self):
        assert expand_patterns(["g?.ozx"]) == ["g?.ozx"]

    def test_what_a_pattern_matches_is_never_an_output(self, monkeypatch, capsys):
        shutil.copytree(FIXTURES / "image.ome.zarr", "h1.ome.zarr")
        shutil.copytree(FIXTURES / "image.ome.zarr", "h2.ome.zarr")
        kept = Path("h1.ozx")
        kept.write_bytes(b"kept")
        monkeypatch.setattr(arguments, "os", SimpleNamespace(name="nt", path=os.path))
        assert run(["pack", "h?.ome.zarr", "out.ozx"]) == 2
        assert "expected one source; 2 files match h?.ome.zarr" in capsys.readouterr().err
        assert run(["unpack", "h1.o*", "g*"]) != 0
        assert run(["pack", "h2*", "h?.ozx", "--force"]) == (2 if os.name == "nt" else 0)  # Windows has no such names
        assert kept.read_bytes() == b"kept"

    @pytest.mark.parametrize(("source", "code"), [("h?.ozx", 0), ("*.ozx", 4)])
    def test_a_single_source_is_expanded_if_one_file_matches(self, monkeypatch, source, code):
        shutil.copytree(FIXTURES / "image.ome.zarr", "h.ome.zarr")
        assert run(["pack", "h.ome.zarr", "h1.ozx"]) == 0
        monkeypatch.setattr(arguments, "os", SimpleNamespace(name="nt", path=os.path))
        assert [run([verb, source, *rest]) for verb, *rest in (["ls"], ["cat", "zarr.json"])] == [code, code]
