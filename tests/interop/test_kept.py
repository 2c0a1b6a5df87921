"""The kept file is what its program writes: made anew by the newest iohub, it is the same to who reads it."""

import subprocess
import sys
import zipfile

import numpy as np
import pytest
from writers import IOHUB, pixels

import ozx

pytestmark = pytest.mark.iohub


def entries(path):
    """Return what tells readers apart: names, as often as they occur, and the form of each entry; the comment."""
    with zipfile.ZipFile(path) as archive:
        forms = [(entry.filename, entry.compress_type, entry.flag_bits, entry.extra) for entry in archive.infolist()]
        return sorted(forms), archive.comment  # chunks are written at once, in whatever order


def test_iohub_writes_what_is_kept(tmp_path):
    np.save(tmp_path / "pixels.npy", pixels())
    subprocess.run((sys.executable, IOHUB.with_name("make_iohub.py"), tmp_path / "pixels.npy", tmp_path), check=True)
    (made,) = tmp_path.glob("iohub-*.ozx")
    assert entries(made) == entries(IOHUB)
    now, kept = ozx.open(made), ozx.open(IOHUB)
    assert now.attrs.asdict() == kept.attrs.asdict()
    np.testing.assert_array_equal(now["0"][...], kept["0"][...])
