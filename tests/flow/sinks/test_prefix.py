"""Objects below a URL after an error: ozx removes what it wrote, and nothing that another program wrote."""

import threading
from types import SimpleNamespace

import pytest

from ozx.cloud import upload
from ozx.errors import ResourceError, UsageError
from ozx.flow.sinks import prefix
from ozx.flow.sinks.prefix import NewObjects

URL = "s3://b/p"


class Server:
    """A store in memory. `before` and `after` are called with the key of each written object, and may raise errors."""

    def __init__(self):
        self.objects: dict[str, tuple[bytes, str]] = {}
        self.requests: list[tuple[str, str]] = []
        self.before = self.after = self.before_find = lambda key: None

    def content(self):
        return {key: data for key, (data, _) in self.objects.items()}


class Client:
    def __init__(self, server, url):
        self.server, self.key = server, url.removeprefix(f"{URL}/")

    def at(self, url):
        return Client(self.server, url)

    def find(self):
        self.server.requests.append(("find", self.key))
        self.server.before_find(self.key)
        found = self.server.objects.get(self.key)
        return None if found is None else (len(found[0]), found[1])

    def put(self, body, mark, *, replace):
        self.server.requests.append(("put", self.key))
        self._keep(body.read(), mark, replace)

    def _keep(self, data, mark, replace):
        self.server.before(self.key)
        if self.key in self.server.objects and not replace:
            raise UsageError("the object exists already")
        self.server.objects[self.key] = data, mark
        self.server.after(self.key)

    def begin(self, mark, *, replace):
        self.begun, self.parts = (mark, replace), {}

    def send(self, number, body):
        self.parts[number] = body.read()

    def complete(self, parts):
        self._keep(b"".join(self.parts[number] for number in range(parts)), *self.begun)

    def abort(self):
        pass

    def remove(self):
        self.server.requests.append(("remove", self.key))
        self.server.objects.pop(self.key, None)


@pytest.fixture
def server(monkeypatch):
    server = Server()
    monkeypatch.setattr(prefix, "RemoteFolder", lambda url: SimpleNamespace(url=url, name=url))
    for module in (prefix, upload):
        monkeypatch.setattr(module, "S3Object", lambda url, options=None: Client(server, url))
    return server


def fail(_key):
    raise ResourceError("cannot write: the server answered 503")


def write(new, key, data):
    new.add(key, len(data), [data])
    new.wait()


@pytest.fixture(params=["one request", "parts"])
def size(request, monkeypatch):
    """Let the values of a test be small, or so large that they are uploaded in parts."""
    if request.param == "parts":
        monkeypatch.setattr(prefix, "_SMALL", 1)
        monkeypatch.setattr(upload, "_USUAL_PART", 2)


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.usefixtures("size")
def test_a_foreign_object_stays_after_a_failed_request(server, replace):
    new = NewObjects(URL, replace=replace)
    write(new, "ours", b"x")

    def appear(key):
        server.objects[key] = b"theirs", "another mark"
        fail(key)

    server.before = appear
    with pytest.raises(ResourceError, match="503"):
        write(new, "theirs", b"ours")
    assert new.abort() == 0
    assert server.content() == {"theirs": b"theirs"}
    new.close()


@pytest.mark.usefixtures("size")
def test_an_object_that_another_program_replaced_stays(server):
    new = NewObjects(URL, replace=True)
    write(new, "a", b"ours")
    server.objects["a"] = b"theirs", "another mark"
    assert new.abort() == 0
    assert server.content() == {"a": b"theirs"}
    new.close()


@pytest.mark.usefixtures("size")
def test_an_object_whose_reply_was_lost_is_removed(server):
    """The server made the object, but ozx can neither read the reply nor ask for the object."""
    new = NewObjects(URL, replace=False)

    def not_found(_key):
        raise ResourceError("cannot reach the server")

    def lose(key):
        server.before_find = not_found
        fail(key)

    server.after = lose
    with pytest.raises(ResourceError, match="503"):
        write(new, "a", b"ours")
    assert server.content() == {"a": b"ours"}
    server.before_find = lambda key: None
    assert new.abort() == 0
    assert server.content() == {}
    new.close()


def test_objects_whose_requests_never_began_are_not_touched(server, monkeypatch):
    monkeypatch.setattr(prefix, "_REQUESTS", 1)
    new = NewObjects(URL, replace=True)
    monkeypatch.setattr(prefix, "_REQUESTS", 2)
    server.objects["second"] = b"old", "old mark"
    entered, go_on = threading.Event(), threading.Event()

    def wait(_key):
        entered.set()
        go_on.wait(10)

    server.before = wait
    new.add("first", 1, [b"1"])
    assert entered.wait(10)
    new.add("second", 1, [b"2"])
    original = prefix.wait

    def wait_then_go_on(futures):
        go_on.set()  # `abort` has cancelled the second request
        return original(futures)

    monkeypatch.setattr(prefix, "wait", wait_then_go_on)
    assert new.abort() == 0
    assert server.content() == {"second": b"old"}
    assert not [request for request in server.requests if request[1] == "second"]
    new.close()
