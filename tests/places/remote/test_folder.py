"""Objects below a URL: which are there, their bytes, and what every fault of a server becomes."""

import pickle

import pytest
from servers import serving_folder

from ozx.errors import ResourceError, UsageError
from ozx.places.remote.folder import RemoteFolder

pytest.importorskip("obstore", reason="the extra remote is not installed")

HURRY = {"retry_config": {"max_retries": 0}}


@pytest.fixture
def server(tmp_path):
    (tmp_path / "a b").mkdir()
    (tmp_path / "a b" / "c").write_bytes(b"0123456789")
    with serving_folder(tmp_path) as server:
        yield server


def test_nothing_is_requested_for_no_bytes(server):
    folder = RemoteFolder(f"{server.url}/a b", HURRY)
    mark = folder.find("c")
    server.take_requests()
    assert folder.read("c", 4, 0, mark) == b""
    assert server.requests == []


def test_a_listing_without_quotes_and_with_parts_of_seconds(server):
    """Seen in `rclone serve s3`, whose listings say ABC where headers say "ABC"."""
    from datetime import UTC, datetime  # noqa: PLC0415

    from ozx.places.remote import folder  # noqa: PLC0415

    time = datetime(2026, 11, 24, 10, 0, 0, tzinfo=UTC)
    for listed, stored in (
        ({"size": 10, "e_tag": "abc", "last_modified": time}, {"size": 10, "e_tag": '"abc"', "last_modified": time}),
        (
            {"size": 10, "e_tag": None, "last_modified": time.replace(microsecond=851_000)},
            {"size": 10, "e_tag": None, "last_modified": time},
        ),
    ):
        assert folder._mark(listed) == folder._mark(stored)


@pytest.mark.parametrize("status", [403, 500])
def test_refusals_name_the_object_but_no_signature(server, status):
    server.statuses["/a b/c"] = status
    folder = RemoteFolder(f"{server.url}/a b?signature=SECRET", HURRY)
    for use in (lambda: folder.find("c"), lambda: folder.read("c")):
        with pytest.raises(ResourceError, match=f"a b/c: .*{status}") as caught:
            use()
        assert "SECRET" not in str(caught.value)


def test_a_copy_by_pickle(server):
    folder = pickle.loads(pickle.dumps(RemoteFolder(f"{server.url}/a b", HURRY)))
    assert folder.read("c", 1, 1) == b"1"


@pytest.mark.parametrize("url", ["ftp://example.org/x", "https:///x", "http://["])
def test_other_urls(url):
    with pytest.raises(UsageError, match="expected a URL"):
        RemoteFolder(url)
