"""Requests from a forked child: obstore's threads are not there, and a fresh process makes them."""

from __future__ import annotations

import asyncio
import os
import signal
import traceback
import warnings

import pytest
from remote_archives import CHUNK, build, opened

from ozx.archive.remote.source import RemoteSource
from ozx.errors import ResourceError, UsageError

pytest.importorskip("obstore", reason="the extra remote is not installed")


def in_a_child(work) -> int:
    """Return the exit code of a forked child that does `work`; 0 when it raised nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forking beside threads: that is the point here
        child = os.fork()
    if child == 0:
        signal.alarm(60)
        code = 1
        try:
            work()
            code = 0
        except BaseException:  # noqa: BLE001 (the child must not go on as a second test run)
            traceback.print_exc()
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")
class TestForks:
    def test_a_child_reads_on(self):
        with opened(build().build()) as (_, reader):
            assert reader.read(3, 5, 10) == CHUNK[5:15]

            async def read_all():
                return await asyncio.gather(*(reader.read_async(3, start, 10) for start in range(0, 800, 100)))

            def work():
                assert reader.read(3) == CHUNK
                assert reader.read(4, 5, 10) == CHUNK[::-1][5:15]
                assert asyncio.run(read_all()) == [CHUNK[start : start + 10] for start in range(0, 800, 100)]
                assert in_a_child(lambda: reader.read(3)) == 0
                assert reader.read(3) == CHUNK
                reader.source.close()

            assert in_a_child(work) == 0
            assert reader.read(3) == CHUNK

    def test_errors_come_through(self):
        with opened(build().build()) as (server, reader):

            def work():
                with pytest.raises(ResourceError, match="404"):
                    reader.read(3)

            server.failures = [404]
            assert in_a_child(work) == 0

    def test_wrong_options_come_through(self):
        with opened(build().build()) as (server, _):

            def work():
                with pytest.raises(UsageError, match="'bogus' is not known"):
                    RemoteSource(server.url, {"bogus": 1}).size()

            assert in_a_child(work) == 0

    def test_a_killed_helper_is_an_error(self):
        with opened(build().build()) as (_, reader):

            def work():
                assert reader.read(3) == CHUNK
                helper = reader.source._of_process.transport._process
                helper.kill()
                helper.wait()
                with pytest.raises(ResourceError, match="has ended") as caught:
                    reader.read(4)
                assert "spawn" in caught.value.hint

            assert in_a_child(work) == 0
