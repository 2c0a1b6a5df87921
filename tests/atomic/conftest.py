"""Let each test look for leftovers again; systems without renameat2."""

import pytest
from sweeping import forget_swept_folders

from ozx.atomic import renaming


@pytest.fixture(autouse=True)
def _forget_swept_folders():
    forget_swept_folders()


@pytest.fixture
def no_renameat2(monkeypatch):
    monkeypatch.setattr(renaming, "renameat2", lambda *_: False)


@pytest.fixture(params=[True, False], ids=["with renameat2", "without renameat2"])
def has_exchange(request):
    if not request.param:
        request.getfixturevalue("no_renameat2")
    return request.param
