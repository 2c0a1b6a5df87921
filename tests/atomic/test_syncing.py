"""Waiting for the disk, file by file where the system has no call for all of them."""

import os
import sys

import pytest

from ozx.atomic.syncing import sync_tree


def test_a_folder_that_cannot_be_listed_is_not_left_out(tmp_path, monkeypatch):
    (tmp_path / "a").mkdir()
    monkeypatch.setattr(sys, "platform", "darwin")
    sync_tree(str(tmp_path))
    scandir = os.scandir

    def fail(path):
        if os.path.basename(path) == "a":
            raise OSError(5, "the disk is gone")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", fail)
    with pytest.raises(OSError, match="the disk is gone"):
        sync_tree(str(tmp_path))
