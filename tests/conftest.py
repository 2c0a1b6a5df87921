"""What all tests share: the fixtures' places, and the rule that nothing is skipped where that is asked for."""

from __future__ import annotations

import os

import pytest
from hierarchies import FIXTURES, HIERARCHIES
from hypothesis import settings

# Tests judge results, not the clock of a machine that may have other things to do. Their examples are the same in
# every run of the same tests, so that a change fails by what it changed (Hypothesis also tries constants out of the
# modules that are loaded: fewer tests, other examples); OZX_THOROUGH (.ci/run, on other Pythons) tries as many as is
# usual, OZX_RANDOM new ones each time (by hand, CONTRIBUTING.md).
is_random = bool(os.environ.get("OZX_RANDOM"))
number = 1000 if is_random else 100 if os.environ.get("OZX_THOROUGH") else 25
settings.register_profile("ozx", deadline=None, derandomize=not is_random, max_examples=number)
settings.load_profile("ozx")

# Requests are counted: none is saved by what an earlier test has read.
os.environ["OZX_CACHE"] = ""

if os.environ.get("OZX_NO_POSIX_CALLS"):
    # The whole suite through the portable fallbacks: as if the system had none of these calls.
    for name in ("pread", "preadv", "readv", "pwrite", "pwritev", "copy_file_range"):
        if hasattr(os, name):
            delattr(os, name)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Where OZX_NO_SKIPS is set (.ci/run), a skipped test is a failed one: every judge has to be there.

    But for the real files of others, which are no part of the project: OZX_SAMPLES names their folder.
    """
    report = yield
    is_allowed = hasattr(report, "wasxfail") or "OZX_SAMPLES" in str(report.longrepr)
    if report.skipped and os.environ.get("OZX_NO_SKIPS") and not is_allowed:
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, which is not allowed here: {report.longrepr}"
    return report


@pytest.fixture(params=HIERARCHIES)
def hierarchy(request):
    """Each OME-Zarr 0.5 fixture, as the path of a directory."""
    return FIXTURES / f"{request.param}.ome.zarr"


@pytest.fixture
def image():
    """The small image fixture."""
    return FIXTURES / "image.ome.zarr"
