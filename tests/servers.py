"""Small HTTP servers on loopback, which record every request and make chosen faults."""

import hashlib
import http.server
import threading
from contextlib import contextmanager
from email.utils import formatdate
from pathlib import Path
from urllib.parse import unquote


class LoopbackServer(http.server.ThreadingHTTPServer):
    """A server on any free port of this computer, with a thread for each request."""

    daemon_threads = True
    request_queue_size = 512

    def __init__(self, handler) -> None:
        super().__init__(("127.0.0.1", 0), handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request, client_address):
        pass  # the client has closed the connection before the end


@contextmanager
def running(server):
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def asked_range(header: str, size: int) -> tuple[int, int]:
    """Return where the range of a ``Range`` header starts and stops in a value of `size` bytes."""
    first, last = header.removeprefix("bytes=").split("-")
    start = int(first) if first else max(0, size - int(last))
    return start, min(size, int(last) + 1) if first and last else size


class _FileHandler(http.server.BaseHTTPRequestHandler):
    # One request per connection (HTTP/1.0), so that no thread waits at the end.

    def log_message(self, *args):
        pass

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        path, wanted = unquote(self.path.partition("?")[0]), self.headers.get("Range")
        status, body, headers = self.server.find(self.command, path, wanted)
        if status == 200 and wanted and self.server.knows(wanted):
            start, stop = asked_range(wanted, len(body))
            if start < stop:
                content_range = self.server.content_range.format(start, stop - 1, len(body))
                status, body, headers = 206, body[start:stop], headers | {"Content-Range": content_range}
            else:
                status, body = 416, b""
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(body))} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            body = self.server.spoil(path, body)
            for start in range(0, len(body), 1 << 16):
                self.wfile.write(body[start : start + (1 << 16)])
                self.server.sent += len(body[start : start + (1 << 16)])


class _FileServer(LoopbackServer):
    def __init__(self) -> None:
        super().__init__(_FileHandler)
        self.requests = []
        self.sent = 0  # bytes of bodies
        self.content_range = "bytes {}-{}/{}"

    def take_requests(self):
        """Return the requests since the last call, in the order in which they came."""
        taken, self.requests = self.requests, []
        return taken

    def knows(self, wanted):
        """Return whether the answer to a request for a range is this range; else it is the whole file."""
        return True


class RangeServer(_FileServer):
    """A server of `data` under every path."""

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self.data = data
        self.failures: list[int] = []  # status codes of the next answers, whose body is `body`
        self.knows_ranges = self.knows_suffixes = True  # if false, the answer to such a request is the whole file
        self.etag: str | None = '"first"'  # None leaves out the header; so for `modified`
        self.modified: int | None = 1_700_000_000
        self.body = b""
        self.cuts: list[int] = []  # numbers of bytes after which the answers to the next requests end
        self.before = lambda call: None  # called with the method of each request before it is answered

    @property
    def url(self) -> str:
        return f"{super().url}/cells.ozx"

    def find(self, method, path, wanted):
        self.requests.append((method, wanted))  # (method, value of the Range header) of every request
        self.before(method)
        headers = {"ETag": self.etag} if self.etag else {}
        if self.modified:
            headers["Last-Modified"] = formatdate(self.modified, usegmt=True)
        return (self.failures.pop(0), self.body, headers) if self.failures else (200, self.data, headers)

    def knows(self, wanted):
        return self.knows_ranges and (self.knows_suffixes or not wanted.startswith("bytes=-"))

    def spoil(self, path, body):
        return body[: self.cuts.pop(0)] if self.cuts else body


class FolderServer(_FileServer):
    """A server of the files below `root`; it cannot list them."""

    def __init__(self, root: Path) -> None:
        super().__init__()
        self.root = root
        self.statuses: dict[str, int] = {}  # the status by path, for files whose requests do not get the usual status
        self.tags: dict[str, str] = {}  # the ETag by path, instead of the ETag from the content of the file
        self.makes_md5 = False  # whether other ETags are the MD5 of the file
        self.flips: dict[str, int] = {}  # by path: in how many answers the last bit is flipped
        self.headers: dict[str, str] = {}  # more headers of all answers

    def find(self, method, path, wanted):
        self.requests.append((method, path))  # (method, path) of every request
        file = self.root / path.strip("/")
        status = self.statuses.get(path, 200 if file.is_file() else 404)
        if status != 200:
            return status, b"", self.headers
        data = file.read_bytes()
        tag = f'"{hashlib.md5(data).hexdigest() if self.makes_md5 else hex(hash(data))}"'
        return status, data, self.headers | {"ETag": self.tags.get(path, tag)}

    def spoil(self, path, body):
        if not body or not self.flips.get(path):
            return body
        self.flips[path] -= 1
        return body[:-1] + bytes([body[-1] ^ 1])


def serving(data: bytes):
    return running(RangeServer(data))


def serving_folder(root):
    return running(FolderServer(Path(root)))
