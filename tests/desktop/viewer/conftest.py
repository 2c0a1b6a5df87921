"""An image for tests of the viewer, and fixtures of the tests in a real browser."""

import os
from contextlib import closing

import pytest
from chromium import Browser, driver, missing_programs
from hierarchies import FIXTURES
from packed import pack_tree


@pytest.fixture
def path(tmp_path):
    return pack_tree(FIXTURES / "image.ome.zarr", tmp_path / "cells.ozx")


@pytest.fixture(scope="session")
def chromium():
    missing = missing_programs()
    if missing:
        message = f"not installed: {', '.join(missing)}"
        if os.environ.get("OZX_REQUIRE_JUDGES"):
            pytest.fail(message)
        pytest.skip(message)
    with driver() as address:
        yield address


@pytest.fixture
def start(chromium):
    """Yield a function that starts a browser; close each browser at the end, unless the test has closed it."""
    sessions = []

    def start_one(*arguments):
        sessions.append(Browser(chromium, *arguments))
        return sessions[-1]

    yield start_one
    for session in sessions:
        session.close()


@pytest.fixture(scope="session")
def session(chromium):
    with closing(Browser(chromium)) as session:
        yield session


@pytest.fixture
def browser(session):
    """A browser that the tests share, with an empty page."""
    session.open("about:blank")
    session.log()
    session.requests()
    return session


@pytest.fixture(scope="session")
def session_without_webgl(chromium):
    with closing(Browser(chromium, "--disable-gpu", "--disable-3d-apis")) as session:
        yield session


@pytest.fixture
def plain(session_without_webgl):
    """A browser without WebGL that the tests share, with an empty page."""
    session_without_webgl.open("about:blank")
    session_without_webgl.log()
    return session_without_webgl
