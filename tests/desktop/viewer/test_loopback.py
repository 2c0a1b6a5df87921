"""The server that only this computer reaches."""

import http.client
import socket
from contextlib import closing
from http import HTTPStatus

import pytest

from ozx.desktop.viewer.loopback import LoopbackServer, Response, json_answer, serving
from ozx.errors import FormatError, ResourceError, UsageError


def echo(request):
    return json_answer({"method": request.method, "path": request.path, "query": request.query})


@pytest.fixture
def ask():
    with serving(LoopbackServer(echo)) as server:

        def send(path="/", *, method="GET", host=None, body=None):
            with closing(http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)) as connection:
                connection.putrequest(method, path, skip_host=True)
                if host != "":
                    connection.putheader("Host", host or f"127.0.0.1:{server.server_port}")
                connection.putheader("Content-Length", str(len(body or b"")))
                connection.endheaders(body)
                answer = connection.getresponse()
                return answer.status, answer.read()

        send.server = server
        yield send


def test_paths_are_decoded_and_queries_taken_apart(ask):
    status, body = ask("/a%20b/%C3%A9?x=1&x=2&y=")
    assert status == 200
    assert body.decode() == '{"method": "GET", "path": "/a b/é", "query": {"x": "2", "y": ""}}'
    assert ask(method="HEAD") == (200, b"")


@pytest.mark.parametrize("host", ["example.org", "127.0.0.1", "localhost:1", "127.0.0.1.example.org:80", ""])
def test_foreign_hosts_are_refused(ask, host):
    assert ask(host=host)[0] == 403


def test_only_this_computer_reaches_it_also_as_localhost(ask):
    assert ask.server.server_address[0] == "127.0.0.1"
    assert ask(host=f"localhost:{ask.server.server_port}")[0] == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_nothing_can_be_changed(ask, method):
    assert ask(method=method, body=b"x=1")[0] == 405


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
    assert (error.strerror if type(error) is PermissionError else str(error)) in body.decode()


def test_a_fault_of_ozx_is_an_answer_that_asks_for_a_report(ask, capsys):
    def fail(_):
        raise TypeError("unsupported operand")

    ask.server.respond = fail
    status, body = ask()
    assert status == 500
    assert b"this is a fault of ozx, not of your files: TypeError: unsupported operand" in body
    err = capsys.readouterr().err
    assert err.startswith("error: this is a fault of ozx")
    assert "Traceback" not in err
    ask.server.respond = echo
    assert ask()[0] == 200


def exchange(ask, *requests):
    """Send bytes on one connection; return what comes until it is closed, or nothing more comes."""
    host = f"Host: 127.0.0.1:{ask.server.server_port}\r\n".encode()
    with socket.create_connection(("127.0.0.1", ask.server.server_port), timeout=20) as connection:
        connection.sendall(b"".join(request.replace(b"\n", b"\r\n").replace(b"HOST\r\n", host) for request in requests))
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(1 << 16), b""))


@pytest.mark.parametrize("target", [b"http://[", b"http://[::1/x"])
def test_a_url_that_is_none_is_a_bad_request(ask, capsys, target):
    assert exchange(ask, b"GET %s HTTP/1.1\nHOST\n\n" % target).startswith(b"HTTP/1.1 400 ")
    assert capsys.readouterr().err == ""


def test_the_body_of_a_request_is_not_the_next_request(ask):
    hidden = b"GET /hidden HTTP/1.1\nHOST\n\n"
    length = len(hidden) + 2 * hidden.count(b"\n") + 100
    body = hidden.ljust(length, b" ")
    sent = body.replace(b"\n", b"\r\n").replace(b"HOST\r\n", b"Host: 127.0.0.1:%d\r\n" % ask.server.server_port)
    header = b"Content-Length: %d\n\n" % len(sent)
    answers = exchange(ask, b"GET /first HTTP/1.1\nHOST\n" + header, body, b"GET /second HTTP/1.1\nHOST\n\n")
    assert answers.count(b"HTTP/1.1 200 ") == 2
    assert b"/first" in answers
    assert b"/second" in answers
    assert b"hidden" not in answers


@pytest.mark.parametrize(
    "header",
    [b"Content-Length: 99999999", b"Content-Length: -1", b"Content-Length: \xb2", b"Transfer-Encoding: chunked"],
)
def test_a_body_of_any_other_length_is_refused(ask, header):
    answer = exchange(ask, b"GET / HTTP/1.1\nHOST\n" + header + b"\n\n")
    assert answer.startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize(
    ("error", "told"),
    [(FormatError("the file changed"), ""), (TypeError("unsupported operand"), "error: this is a fault of ozx")],
)
def test_an_error_in_the_middle_of_a_body_breaks_the_connection(ask, capsys, error, told):
    def blocks():
        yield b"12345"
        raise error

    ask.server.respond = lambda _: Response(HTTPStatus.OK, blocks(), length=10)
    with pytest.raises(http.client.IncompleteRead):
        ask()
    ask.server.respond = echo
    assert ask()[0] == 200
    err = capsys.readouterr().err
    assert err.startswith(told)
    assert "Traceback" not in err


def test_a_port_that_is_taken_is_told(ask):
    with pytest.raises(ResourceError, match="cannot listen on port"):
        LoopbackServer(echo, ask.server.server_port)
