"""A file behind a URL: what every fault of servers and lines becomes, and use from threads, loops and copies."""

import asyncio
import errno
import pickle
import socket
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor

import pytest
from remote_archives import CHUNK, HURRY, MIB, TAIL, build, header_end, opened, span
from servers import serving

from ozx.archive.reader import ArchiveReader
from ozx.errors import FormatError, ResourceError, UsageError
from ozx.places.byte_source import MemorySource
from ozx.places.remote import source as remote_source
from ozx.places.remote.source import RemoteSource

pytest.importorskip("obstore", reason="the extra remote is not installed")

#: Tracebacks quote the lines of this file, which must not hold the word.
QUERY = "?X-Amz-Signature=" + "SEC" + "RET"

#: The request after the first 503, to hear how long to wait.
ASKED = ("GET", "bytes=0-0")


def assert_no_secret(error: BaseException) -> None:
    assert "SECRET" not in "".join(traceback.format_exception(error))
    assert "SECRET" not in repr(error.__reduce__())  # what a pickle holds
    # What `from None` only hides: tracebacks show no context then, loggers and picklers of whole errors find it.
    assert error.__context__ is error.__cause__ is None


class TestChanges:
    def change(self, server, how):
        if how == "etag":
            server.etag = '"second"'
        elif how == "no etag any more":
            server.etag = None
        elif how == "length":
            server.etag, server.data = None, server.data + b"more"
        else:
            server.etag, server.modified = None, server.modified + 1

    @pytest.mark.parametrize("how", ["etag", "no etag any more", "length", "modified"])
    @pytest.mark.parametrize("way", ["read", "read_async", "pickled"])
    def test_a_changed_file_is_an_error(self, how, way):
        with serving(build().build()) as server:
            server.etag = None if how in ("length", "modified") else server.etag
            reader = ArchiveReader(RemoteSource(server.url, HURRY))
            index = reader.find("0/c/0")
            self.change(server, how)
            with pytest.raises(FormatError, match="changed while it was read") as caught:
                if way == "read":
                    reader.read(index)
                elif way == "read_async":
                    asyncio.run(reader.read_async(index))
                else:
                    pickle.loads(pickle.dumps(reader)).read(index)
            assert caught.value.rule == "zip/changed"
            assert caught.value.path == server.url


class TestServers:
    def test_without_ranges(self):
        with serving(bytes(64 * MIB)) as server:
            server.knows_ranges = False
            with pytest.raises(ResourceError, match="HTTP range requests") as caught:
                RemoteSource(server.url).size()
            assert "Download the file" in caught.value.hint
            assert caught.value.__context__ is None
            assert server.requests == [TAIL, ("HEAD", None), span(63 * MIB, 64 * MIB)]
        assert server.sent < 32 * MIB  # what fits the buffers of two connections

    def test_no_fault_carries_the_query(self):
        with serving(build().build()) as server:
            source = RemoteSource(server.url + QUERY, HURRY)
            source.size()
            for read in (source.read_at, lambda *span: asyncio.run(source.read_view_async(*span))):
                for status in (404, 403, 503):
                    server.failures = [status] * 5
                    with pytest.raises(ResourceError, match=str(status)) as caught:
                        read(0, 10)
                    assert_no_secret(caught.value)
                    server.failures = []

    @pytest.mark.parametrize("status", [404, 503])
    def test_a_fault_after_an_unclear_answer_carries_no_query_either(self, status):
        with serving(build().build()) as server:
            server.failures = [416, *[status] * 5]
            with pytest.raises(ResourceError, match=str(status)) as caught:
                RemoteSource(server.url + QUERY, HURRY).size()
            assert server.requests[1][0] == "HEAD"
        assert_no_secret(caught.value)

    def test_a_change_seen_after_an_unclear_answer_carries_no_query_either(self):
        with serving(build().build()) as server:
            source = RemoteSource(server.url + QUERY, HURRY)
            source.size()
            source.close()
            server.etag, server.knows_suffixes = '"second"', False
            with pytest.raises(FormatError, match="changed while it was read") as caught:
                source.size()
        assert_no_secret(caught.value)

    def test_without_suffix_ranges(self):
        data = build().build()
        with serving(data) as server:
            server.knows_suffixes = False
            reader = ArchiveReader(RemoteSource(server.url))
            reader.check()
            assert server.requests == [TAIL, ("HEAD", None), span(len(data) - MIB, len(data))]

    def test_an_answer_that_does_not_say_which_part_it_is(self):
        with serving(build().build()) as server:
            server.content_range = "bytes {}-{}/*"
            with pytest.raises(ResourceError, match="did not say in the header Content-Range which part it sent"):
                RemoteSource(server.url).size()

    def test_another_part_than_asked_for_is_refused(self):
        with serving(build().build()) as server:
            source = RemoteSource(server.url, HURRY)
            source.size()
            server.content_range = "bytes 5-104/{2}"
            with pytest.raises(ResourceError):
                source.read_at(10, 100)

    @pytest.mark.parametrize(
        ("status", "message"),
        [(404, "no such file; .* 404 Not Found"), (403, "not allowed.*403"), (401, "not allowed.*401")],
    )
    def test_refusals(self, status, message):
        with serving(b"") as server:
            server.failures = [status]
            server.body = b"<Error><AWSAccessKeyId>SECRET</AWSAccessKeyId></Error>"
            with pytest.raises(ResourceError, match=message) as caught:
                RemoteSource(server.url + QUERY).size()
            assert caught.value.path == server.url
            assert server.requests == [TAIL]
        assert caught.value.errno == (errno.ENOENT if status == 404 else None)
        assert_no_secret(caught.value)

    def test_failures_are_retried(self):
        with serving(build().build()) as server:
            server.failures = [503, 500, 502]
            reader = ArchiveReader(RemoteSource(server.url, HURRY))
            reader.check()
            assert server.take_requests() == [TAIL, ASKED, TAIL, TAIL]  # the second is answered 500
            server.failures = [503]
            assert asyncio.run(reader.read_async(reader.find("0/c/0"))) == CHUNK
            assert len(server.take_requests()) == 2
            assert reader.source.requests == 2

    def test_a_connection_that_ends_early_is_taken_up_again(self):
        with opened(build().build()) as (server, reader):
            server.cuts = [100_000, 100_000]
            assert reader.read(3) == CHUNK
            server.cuts = [100_000]
            assert asyncio.run(reader.read_async(4)) == CHUNK[::-1]

    def test_connections_that_always_end_early(self):
        with opened(build().build()) as (server, reader):
            server.cuts = [1_000] * 100
            with pytest.raises(ResourceError, match="ended before the answer was complete"):
                reader.read(3)

    def test_failures_without_end(self):
        with serving(b"") as server:
            server.failures = [503] * 100
            with pytest.raises(ResourceError, match="503 Service Unavailable") as caught:
                RemoteSource(server.url + QUERY, HURRY).size()
            assert server.requests == [TAIL, ASKED, TAIL, TAIL, TAIL]
        assert_no_secret(caught.value)

    def test_no_answer_in_time(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            options = {"client_options": {"read_timeout": "200ms"}, "retry_config": {"max_retries": 0}}
            with pytest.raises(ResourceError, match="no answer in time"):
                RemoteSource(f"http://127.0.0.1:{silent.getsockname()[1]}/x.ozx", options).size()


class TestUse:
    @pytest.mark.parametrize("url", ["ftp://host/x.ozx", "cells.ozx", "https:///x.ozx", "file:///x.ozx"])
    def test_other_urls_are_refused(self, url):
        with pytest.raises(UsageError, match="expected a URL that begins with"):
            RemoteSource(url)

    @pytest.mark.parametrize(
        ("url", "options", "message"),
        [
            ("https://h/x", {"bogus": "SECRET"}, "'bogus' is not known"),
            ("s3://b/x", {"bogus": "SECRET"}, "'bogus' is not known"),
            ("https://h/x", {"client_options": {"bogus": "SECRET"}}, "'bogus' is not known"),
            ("az://c/x", {}, "Account must be specified"),
            ("s3://b/x", {"skip_signature": "SECRET"}, "match"),
        ],
    )
    def test_wrong_options(self, url, options, message, monkeypatch):
        monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_NAME", raising=False)
        with pytest.raises(UsageError, match=message) as caught:
            RemoteSource(url, options).size()
        assert_no_secret(caught.value)

    def test_without_obstore(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "obstore", None)
        with pytest.raises(ResourceError, match="needs the package obstore") as caught:
            RemoteSource("https://example.org/x.ozx").size()
        assert caught.value.hint == 'Install it: pip install "ozx-toolkit[remote]"'

    def test_pickling(self):
        with serving(build().build()) as server:
            reader = ArchiveReader(RemoteSource(server.url, HURRY))
            assert pickle.loads(pickle.dumps(reader)).read(5, 0, 5) == bytes(5)  # before the first use
            reader.check()
            copied = pickle.dumps(reader)
            assert len(copied) < 2_000  # without what is remembered
            assert pickle.loads(copied).read(3) == CHUNK

    def test_threads_share_the_first_request(self):
        with serving(build().build()) as server, ThreadPoolExecutor(8) as pool:
            source = RemoteSource(server.url)
            assert set(pool.map(lambda _: source.size(), range(32))) == {len(server.data)}
            assert server.requests == [TAIL]

    def test_a_local_source_reads_asynchronously_too(self):
        reader = ArchiveReader(MemorySource(build().build()))
        reader.prefetch_head()
        assert asyncio.run(reader.read_async(3, 5, 10)) == CHUNK[5:15]


class TestEarlyHead:
    """The request for the beginning of a file that is sent together with the request for its end."""

    @pytest.fixture(autouse=True)
    def far(self, monkeypatch):
        monkeypatch.setattr(remote_source, "_PATIENCE", 0)

    def test_metadata_are_remembered(self):
        data = build().build()
        with serving(data) as server:
            source = RemoteSource(server.url, HURRY)
            source.read_head_early()
            reader = ArchiveReader(source)
            reader.prefetch_head()
            assert source.read_at(0, 400_000) == data[:400_000]
            assert sorted(server.requests) == [TAIL, span(0, MIB // 2)]
            assert (source.requests, source.bytes_read) == (2, MIB + MIB // 2)

    def test_more_metadata_than_expected_are_completed(self, monkeypatch):
        monkeypatch.setattr(remote_source, "_HEAD", 100)
        data = build().build()
        end = header_end(data, "0/c/0")[0]
        with serving(data) as server:
            source = RemoteSource(server.url, HURRY)
            source.read_head_early()
            ArchiveReader(source).prefetch_head()
            assert source.read_at(0, end) == data[:end]
            assert sorted(server.requests[:2]) == [TAIL, span(0, 100)]
            assert server.requests[2:] == [span(100, end)]

    def test_a_file_that_changes_meanwhile_is_an_error(self):
        with serving(build().build()) as server:
            server.before = lambda _: setattr(server, "etag", f'"{len(server.requests)}"')
            source = RemoteSource(server.url, HURRY)
            source.read_head_early()
            with pytest.raises(FormatError, match="changed while it was read"):
                ArchiveReader(source).prefetch_head()

    @pytest.mark.parametrize("failure", [ResourceError("no"), FormatError("changed", rule="zip/changed")])
    def test_a_failure_counts_only_if_the_bytes_are_needed(self, failure):
        data = build().build()
        with serving(data) as server:
            source = RemoteSource(server.url, HURRY)
            fetch, failures = source._transport().fetch, [failure]

            def failing(offset, length, expected):
                if offset == 0 and failures:
                    raise failures.pop()
                return fetch(offset, length, expected)

            source._transport().fetch = failing
            source.read_head_early()
            assert source.size() == len(data)
            assert failures == []
            assert source.read_at(0, 10) == data[:10]
            assert server.requests == [TAIL, span(0, 10)]
