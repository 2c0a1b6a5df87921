"""Requests that fail are repeated, when the server says so, and within the time of the caller."""

import asyncio
import datetime as dt
import importlib
import pickle
import socket
import time
import types

import pytest
from fault_proxy import Fault, proxying
from remote_archives import HURRY, build
from servers import serving

import ozx
from ozx.errors import ResourceError, UsageError
from ozx.places.remote import deadline as deadlines
from ozx.places.remote.access import current_deadline
from ozx.places.remote.folder import RemoteFolder
from ozx.places.remote.retries import ask_retry_after, parse_retry_after
from ozx.places.remote.source import RemoteSource

pytest.importorskip("obstore", reason="the extra remote is not installed")


@pytest.fixture
def proxy():
    with serving(build().build()) as server, proxying(server.url) as proxy:
        yield proxy


@pytest.mark.ci
def test_retry_after_is_honoured(proxy):
    proxy.faults = [Fault("status", 503, retry_after="1")] * 2
    begun = time.monotonic()
    RemoteSource(f"{proxy.url}/cells.ozx", HURRY).size()
    assert time.monotonic() - begun >= 1.0
    assert proxy.times[-1] - proxy.times[1] >= 0.99  # since the server said it


@pytest.mark.ci
def test_retry_after_holds_for_all_requests(proxy):
    source = RemoteSource(f"{proxy.url}/cells.ozx", HURRY)
    source.size()
    proxy.faults = [Fault("status", 429, retry_after="1")] * 2
    proxy.times.clear()

    async def read_all():
        first = asyncio.ensure_future(source.read_view_async(0, 10))
        await asyncio.sleep(0.3)
        return await asyncio.gather(first, *(source.read_view_async(start, 10) for start in range(0, 80, 10)))

    assert len(asyncio.run(read_all())) == 9
    # The first request, the question, then nothing for the time that the server gave.
    assert min(proxy.times[2:]) - proxy.times[1] >= 0.99


def test_a_server_that_asks_for_an_hour(proxy):
    proxy.faults = [Fault("status", 503, retry_after="3600")] * 2
    with pytest.raises(ResourceError, match="asks to wait 3,600 s") as caught:
        RemoteSource(f"{proxy.url}/cells.ozx", HURRY).size()
    assert caught.value.__context__ is None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("7", 7),
        (" 0 ", 0),
        ("Tue, 14 Nov 2023 22:13:50 GMT", 30),
        ("Tue, 14 Nov 2023 22:13:10 GMT", 0),
        ("9" * 30, float("inf")),
        ("-1", None),
        ("soon", None),
        ("", None),
        (None, None),
    ],
)
def test_values_of_the_header(text, seconds):
    assert parse_retry_after(text, dt.datetime(2023, 11, 14, 22, 13, 20, tzinfo=dt.UTC)) == seconds


def test_servers_that_say_nothing(proxy):
    assert ask_retry_after("s3://bucket/key", "cells.ozx") is None
    assert ask_retry_after("http://[", "cells.ozx") is None
    assert ask_retry_after(f"{proxy.url}/cells.ozx", "cells.ozx") is None
    proxy.faults = [Fault("status", 503)]
    assert ask_retry_after(f"{proxy.url}/cells.ozx", "cells.ozx") is None


def test_a_url_with_a_user(proxy):
    seen = []
    proxy.choose = lambda method, path, number: Fault("status", 503, retry_after="7")
    send = proxy.RequestHandlerClass.do_GET

    def do_get(handler):
        seen.append(handler.headers.get("Authorization"))
        send(handler)

    proxy.RequestHandlerClass = type("Handler", (proxy.RequestHandlerClass,), {"do_GET": do_get})
    assert ask_retry_after(f"{proxy.url.replace('//', '//a%20b:c@')}/cells.ozx#part", "cells.ozx") == 7
    assert seen == ["Basic YSBiOmM="]


def test_redirects_are_not_followed(proxy):
    proxy.choose = lambda method, path, number: Fault("status", 302)
    assert ask_retry_after(f"{proxy.url}/cells.ozx", "cells.ozx") is None
    assert len(proxy.requests) == 1


@pytest.mark.ci
def test_certificates_and_names_are_not_asked_for_long():
    begun = time.monotonic()
    with pytest.raises(ResourceError, match="its name is not known"):
        RemoteSource("http://nowhere.invalid/x.ozx").size()
    with serving(b"") as server, pytest.raises(ResourceError, match="it does not use TLS"):
        RemoteSource(server.url.replace("http:", "https:")).size()
    assert time.monotonic() - begun < 30  # half of the time that obstore repeats requests


class TestTimeout:
    @pytest.fixture(autouse=True)
    def _loaded(self):
        """Import what requests need, because the first import takes longer than some limits."""
        importlib.import_module("obstore.exceptions")

    def test_a_silent_server(self):
        with socket.create_server(("127.0.0.1", 0)) as silent, ozx.storage_options(timeout=0.3):
            url = f"http://127.0.0.1:{silent.getsockname()[1]}/x.ozx"
            begun = time.monotonic()
            with pytest.raises(ResourceError, match=r"0\.3 s has passed .*; 0 requests received 0 bytes") as caught:
                RemoteSource(url).size()
            assert caught.value.path == url
            with pytest.raises(ResourceError, match=r"limit of 0\.3 s has passed"):
                RemoteFolder(url).find("zarr.json")
            assert time.monotonic() - begun < 10

    def test_an_asynchronous_read(self, proxy, monkeypatch):
        with ozx.storage_options(timeout=60):
            source = RemoteSource(f"{proxy.url}/cells.ozx")
            assert asyncio.run(source.read_view_async(0, 4)) == b"PK\x03\x04"
            proxy.faults = [Fault("stall", seconds=20)]
            ends = current_deadline().end - 0.3
            start = time.monotonic()
            clock = types.SimpleNamespace(time=lambda: ends + time.monotonic() - start)
            monkeypatch.setattr(deadlines, "time", clock)  # of the minute, 0.3 s are left
            begun = time.monotonic()
            with pytest.raises(ResourceError, match="2 requests received 1,048,580 bytes"):
                asyncio.run(source.read_view_async(0, 4))
            assert time.monotonic() - begun < 10

    def test_pauses_between_attempts(self, proxy):
        proxy.faults = [Fault("status", 503, retry_after="60")] * 2
        with ozx.storage_options(timeout=0.3), pytest.raises(ResourceError, match=r"0\.3 s has passed"):
            RemoteSource(f"{proxy.url}/cells.ozx", HURRY).size()

    def test_without_time_for_another_attempt_the_error_names_the_cause(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            url = f"http://127.0.0.1:{server.getsockname()[1]}/x.ozx"
        hour = dt.timedelta(hours=1)
        slow = {"retry_config": {"max_retries": 3, "backoff": {"init_backoff": hour, "max_backoff": hour, "base": 2}}}
        begun = time.monotonic()
        with ozx.storage_options(timeout=60), pytest.raises(ResourceError, match=r"cannot reach the server: .*refused"):
            RemoteSource(url, slow).size()
        assert time.monotonic() - begun < 30

    def test_inner_blocks_do_not_extend_it(self):
        with ozx.storage_options(timeout=5):
            outer = current_deadline()
            with ozx.storage_options(timeout=50):
                assert current_deadline() == outer
            with ozx.storage_options(timeout="1"):
                assert current_deadline().seconds == 1
        assert current_deadline() is None

    @pytest.mark.parametrize("timeout", [0, -1, "soon", float("nan"), float("inf"), [1]])
    def test_no_time(self, timeout):
        with pytest.raises(UsageError, match="positive number of seconds"), ozx.storage_options(timeout=timeout):
            pass

    def test_copies_keep_it(self, proxy):
        with ozx.storage_options(timeout=0.2):
            source = RemoteSource(f"{proxy.url}/cells.ozx")
        copied = pickle.loads(pickle.dumps(source))
        time.sleep(0.2)
        with pytest.raises(ResourceError, match=r"limit of 0\.2 s has passed"):
            copied.size()
