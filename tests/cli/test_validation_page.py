"""`ozx validate --report`: findings as a page."""

import re

import pytest
from cases.archive_builder import ArchiveBuilder
from commands import command
from hierarchies import FIXTURES
from packed import pack_tree

ozx = command("validate")


@pytest.fixture
def paths(here):
    """Two valid files, one with hostile names that is not, and a missing one."""
    pack_tree(FIXTURES / "image.ome.zarr", here / "good.ozx")
    pack_tree(FIXTURES / "image.ome.zarr", here / "other.ozx")
    ArchiveBuilder.valid().add("../<script>\x1b&\x00").write(here / "<b>.ozx")
    return ["good.ozx", "other.ozx", "<b>.ozx", "missing.ozx"]


def test_a_page(capsys, here, paths):
    (here / "report.html").write_text("an older one")
    code, out, _ = ozx(capsys, *paths, "--quiet", "--report", "report.html")
    assert code == 4
    assert out.startswith("<b>.ozx")
    page = (here / "report.html").read_text(encoding="utf-8")
    assert '2 valid, <span class="error">1 not valid</span>, 1 not read' in page
    assert "&lt;b&gt;.ozx" in page
    assert "<script" not in page
    assert "<b>" not in page
    assert not re.search(r"(src|href)=\"(?!data:)", page)
    assert "missing.ozx" in page


def test_a_failing_file_has_its_picture(capsys, here):
    builder = pack_tree(FIXTURES / "image.ome.zarr", here / "bad.ozx")
    data = builder.read_bytes()
    builder.write_bytes(data + b"trailing")
    assert ozx(capsys, "bad.ozx", "--report", "report.html")[0] == 1
    assert '<img alt="bad.ozx" src="data:image/png;base64,' in (here / "report.html").read_text(encoding="utf-8")
