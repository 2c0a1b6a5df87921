"""Let each test look for leftovers again."""

import pytest
from sweeping import forget_swept_folders


@pytest.fixture(autouse=True)
def _forget_swept_folders():
    forget_swept_folders()
