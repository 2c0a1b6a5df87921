"""What an archive is called when nobody says."""

import os

import pytest

from ozx.flow.sinks.target import default_output


@pytest.mark.parametrize(
    ("source", "out_dir", "expected"),
    [
        ("cells.ome.zarr", None, "cells.ozx"),
        ("cells.zarr", None, "cells.ozx"),
        ("a/b.OME.Zarr", None, "a/b.ozx"),
        ("cells", None, "cells.ozx"),
        (".zarr", None, ".zarr.ozx"),
        ("a.b.zarr", "d", "d/a.b.ozx"),
    ],
)
def test_the_default_name(source, out_dir, expected):
    assert default_output(source, out_dir).replace(os.sep, "/") == expected


def test_the_current_folder_gives_its_name(tmp_path, monkeypatch):
    (tmp_path / "cells.ome.zarr").mkdir()
    monkeypatch.chdir(tmp_path / "cells.ome.zarr")
    assert default_output(".") == str(tmp_path / "cells.ozx")
