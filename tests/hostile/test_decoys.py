"""Commands on a cluster touch nothing but what is named, though its workers are in a folder full of decoys."""

import random

import pytest
from decoys import cluster_in, make_files, run_once

pytestmark = pytest.mark.ci


def test_only_the_named_files_are_touched(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    make_files(home, 255)
    with cluster_in(home) as address:
        for seed in range(6):
            run_once(random.Random(seed), tmp_path, home, address)
