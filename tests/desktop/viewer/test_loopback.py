"""The server that only this computer reaches."""

import http.client
from http import HTTPStatus

import pytest

from ozx.desktop.viewer.loopback import Answer, LoopbackServer, json_answer, serving
from ozx.errors import FormatError, ResourceError, UsageError


def echo(request):
    return json_answer({"method": request.method, "path": request.path, "query": request.query})


@pytest.fixture
def ask():
    with serving(LoopbackServer(echo)) as server:

        def send(path="/", *, method="GET", host=None, body=None):
            connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
            connections.append(connection)
            connection.putrequest(method, path, skip_host=True)
            if host != "":
                connection.putheader("Host", host or f"127.0.0.1:{server.server_port}")
            connection.putheader("Content-Length", str(len(body or b"")))
            connection.endheaders(body)
            answer = connection.getresponse()
            return answer.status, answer.read()

        connections = []
        send.server = server
        yield send
        for connection in connections:
            connection.close()


def test_paths_are_decoded_and_queries_taken_apart(ask):
    status, body = ask("/a%20b/%C3%A9?x=1&x=2&y=")
    assert status == 200
    assert body.decode() == '{"method": "GET", "path": "/a b/é", "query": {"x": "2", "y": ""}}'


def test_only_this_computer_reaches_it(ask):
    assert ask.server.server_address[0] == "127.0.0.1"


@pytest.mark.parametrize("host", ["example.org", "127.0.0.1", "localhost:1", "127.0.0.1.example.org:80", ""])
def test_foreign_hosts_are_refused(ask, host):
    assert ask(host=host)[0] == 403


def test_this_computer_may_be_called_localhost(ask):
    assert ask(host=f"localhost:{ask.server.server_port}")[0] == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_nothing_can_be_changed(ask, method):
    assert ask(method=method, body=b"x=1")[0] == 405


def test_a_head_request_has_no_body(ask):
    assert ask(method="HEAD") == (200, b"")


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (UsageError("no such level"), 404),
        (FormatError("a chunk is damaged", hint="ozx validate"), 422),
        (ResourceError("no network"), 500),
        (PermissionError(13, "Permission denied"), 500),
    ],
)
def test_errors_are_answers_that_say_what_is_wrong(ask, error, status):
    def fail(_):
        raise error

    ask.server.respond = fail
    found, body = ask()
    assert found == status
    assert str(error) in body.decode()


def test_an_error_in_the_middle_of_a_body_breaks_the_connection(ask):
    def blocks():
        yield b"12345"
        raise FormatError("the file changed")

    ask.server.respond = lambda _: Answer(HTTPStatus.OK, blocks(), length=10)
    with pytest.raises(http.client.IncompleteRead):
        ask()


def test_a_port_that_is_taken_is_told(ask):
    with pytest.raises(ResourceError, match="cannot listen on port"):
        LoopbackServer(echo, ask.server.server_port)
