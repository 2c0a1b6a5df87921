"""An S3 server; objects consist of ranges of files and of memory, and copied ranges are references.

It supports the requests of ozx: ranges of objects of any size, lists, uploads in parts, parts copied from ranges,
conditions, tags, access rights. It counts the transferred bytes. `.ci/run` compares it with the server of moto.
"""

from __future__ import annotations

import hashlib
import http.server
import os
import re
import socket
import threading
import time
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import formatdate
from urllib.parse import parse_qs, parse_qsl, quote, unquote, urlsplit
from xml.sax.saxutils import escape, unescape

from servers import LoopbackServer, asked_range, running

_BLOCK = 1 << 20
_LEAST_PART = 5 << 20
_MOST_COPIED = 5 << 30
_KEPT = ("content-type", "cache-control", "content-encoding", "x-amz-storage-class", "x-amz-server-side-encryption")


@dataclass(frozen=True)
class Run:
    """`length` bytes of `data` (bytes, or the path of a file) from `offset`."""

    data: bytes | str
    offset: int
    length: int

    def cut(self, start: int, stop: int) -> Run:
        return Run(self.data, self.offset + start, stop - start)

    def blocks(self):
        if isinstance(self.data, bytes):
            yield self.data[self.offset : self.offset + self.length]
            return
        with open(self.data, "rb") as file:
            file.seek(self.offset)
            left = self.length
            while left:
                block = file.read(min(left, _BLOCK))
                left -= len(block)
                yield block


@dataclass
class Object:
    runs: list[Run]
    headers: dict[str, str] = field(default_factory=dict)
    tags: str = ""
    tag: str = field(default_factory=lambda: f'"{uuid.uuid4().hex}"')
    time: float = field(default_factory=time.time)

    @property
    def modified(self) -> str:
        return formatdate(self.time, usegmt=True)

    @property
    def size(self) -> int:
        return sum(run.length for run in self.runs)

    def span(self, start: int, stop: int) -> list[Run]:
        found, position = [], 0
        for run in self.runs:
            low, high = max(start, position), min(stop, position + run.length)
            if low < high:
                found.append(run.cut(low - position, high - position))
            position += run.length
        return found


class Server(LoopbackServer):
    """A server for one bucket of any name; `has_buckets` makes it one of several buckets, with the ETags of S3."""

    def __init__(self, *, has_buckets: bool = False) -> None:
        super().__init__(_Handler)
        # The names of the buckets; then, the keys below begin with the bucket.
        self.buckets: set[str] | None = set() if has_buckets else None
        # The objects by key; the unfinished uploads by id, each with its key, headers and parts.
        self.objects: dict[str, Object] = {}
        self.uploads: dict[str, dict] = {}
        # The names of the received calls: ``GET``, ``HEAD``, ``PutPart``, ``CopyPart``, ``Complete`` and so on.
        self.calls: list[str] = []
        self.sent = self.received = 0  # numbers of bytes in bodies
        self.refuses: set[str] = set()  # calls that are answered with 501
        self.keeps_parts = True  # whether the bytes of sent parts are kept; otherwise, only their number is kept
        # Whether the request that creates an object ignores ``If-Match``, as on some servers.
        self.ignores_conditions = False
        self.loses_reply_of: set[str] = set()
        self.before = lambda call: None  # called with the name of each call before it is answered
        self.lock = threading.Lock()

    def put_file(self, key: str, path, **headers: str) -> None:
        path = os.fspath(path)
        kept = {name.replace("_", "-"): value for name, value in headers.items()}
        self.objects[key] = Object([Run(path, 0, os.path.getsize(path))], kept)

    def put(self, key: str, data: bytes) -> None:
        self.objects[key] = Object([Run(data, 0, len(data))])

    def get(self, key: str) -> bytes:
        return b"".join(block for run in self.objects[key].runs for block in run.blocks())


def serving(*, has_buckets: bool = False):
    return running(Server(has_buckets=has_buckets))


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else each answer waits for the acknowledgement of its headers
    server: Server

    def log_message(self, *arguments):
        pass

    def _begin(self, call: str) -> bool:
        url = urlsplit(self.path)
        self.bucket, _, self.key = unquote(url.path).lstrip("/").partition("/")
        self.is_bucket = not self.key
        if self.server.buckets is not None:
            self.key = f"{self.bucket}/{self.key}"
        self.query = {name: values[0] for name, values in parse_qs(url.query, keep_blank_values=True).items()}
        with self.server.lock:
            self.server.calls.append(call)
        self.server.before(call)
        if call in self.server.refuses:
            self._fail(501, "NotImplemented")
            return False
        if self.server.buckets is not None and self.bucket not in self.server.buckets:
            if self.command == "PUT" and self.is_bucket:
                self.server.buckets.add(self.bucket)
            else:
                self._fail(404, "NoSuchBucket")
                return False
        return True

    def _tag(self, runs: list[Run]) -> str:
        """Return the ETag of new bytes: their MD5, as on S3, where the bytes are kept."""
        if self.server.buckets is None:
            return f'"{uuid.uuid4().hex}"'
        digest = hashlib.md5(b"".join(block for run in runs for block in run.blocks()))
        return f'"{digest.hexdigest()}"'

    def _answer(self, status: int = 200, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", headers.get("length", str(len(body))))
        self.end_headers()
        if self.command != "HEAD":
            self._write(body)

    def _write(self, body: bytes) -> None:
        self.wfile.write(body)
        with self.server.lock:
            self.server.sent += len(body)

    def _xml(self, name: str, inside: str) -> None:
        self._answer(200, f'<?xml version="1.0"?><{name}>{inside}</{name}>'.encode(), Content_Type="application/xml")

    def _fail(self, status: int, code: str) -> None:
        body = (
            b"" if self.command == "HEAD" else f"<Error><Code>{code}</Code><Message>{code}</Message></Error>".encode()
        )
        self._answer(status, body, Content_Type="application/xml")

    def _found(self) -> Object | None:
        found = self.server.objects.get(self.key)
        if found is None:
            self._fail(404, "NoSuchKey")
        return found

    def _upload(self) -> dict | None:
        found = self.server.uploads.get(self.query["uploadId"])
        if found is None:
            self._fail(404, "NoSuchUpload")
        return found

    def _body(self) -> bytes:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if "aws-chunked" in self.headers.get("Content-Encoding", ""):
            body, data = b"", body
            while data:  # SIZE[;…] CRLF bytes CRLF, the last of size 0 with trailers
                line, _, data = data.partition(b"\r\n")
                size = int(line.split(b";")[0], 16)
                if size == 0:
                    break
                body, data = body + data[:size], data[size + 2 :]
        with self.server.lock:
            self.server.received += len(body)
        return body

    def _pass_over(self) -> int:
        """Read a body without keeping it; return its length."""
        size = left = int(self.headers.get("Content-Length", 0))
        if "aws-chunked" in self.headers.get("Content-Encoding", ""):
            raise ValueError("expected a plain body")
        while left:
            left -= len(self.rfile.read(min(left, _BLOCK)))
        with self.server.lock:
            self.server.received += size
        return size

    def _kept(self) -> dict[str, str]:
        kept = {name.lower(): value for name, value in self.headers.items()}
        encoding = kept.get("content-encoding", "").replace("aws-chunked", "").strip(",")
        kept = {**kept, "content-encoding": encoding}
        return {name: value for name, value in kept.items() if value and (name in _KEPT or "x-amz-meta-" in name)}

    def do_HEAD(self):
        if not self._begin("HEAD"):
            return
        if self.is_bucket:
            self._answer()
            return
        found = self._found()
        if found is not None and not self._is_refused(found):
            self._describe(found, 200, found.size)

    def _describe(self, found: Object, status: int, length: int, **more: str) -> None:
        self.send_response(status)
        headers = {"ETag": found.tag, "Last-Modified": found.modified, "Accept-Ranges": "bytes", **more}
        for name, value in (headers | found.headers | {"Content-Length": str(length)}).items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def _is_refused(self, found: Object) -> bool:
        """Answer a read of an object with another ETag than the wanted one."""
        if self.headers.get("If-Match", found.tag) == found.tag:
            return False
        self._fail(412, "PreconditionFailed")
        return True

    def do_GET(self):
        url = urlsplit(self.path)
        names = parse_qs(url.query, keep_blank_values=True)
        call = next((name for name in ("tagging", "acl", "uploads") if name in names), "GET")
        if not self._begin(call):
            return
        if call == "uploads":
            items = "".join(
                f"<Upload><Key>{escape(each['key'].removeprefix(self.key))}</Key><UploadId>{number}</UploadId>"
                "<Initiated>2026-11-24T10:00:00.000Z</Initiated></Upload>"
                for number, each in self.server.uploads.items()
                if each["key"].startswith(self.key)
            )
            self._xml("ListMultipartUploadsResult", f"<IsTruncated>false</IsTruncated>{items}")
            return
        if self.is_bucket:
            self._list()
            return
        found = self._found()
        if found is None:
            return
        if call == "tagging":
            pairs = parse_qsl(found.tags, keep_blank_values=True)
            tags = "".join(f"<Tag><Key>{escape(key)}</Key><Value>{escape(value)}</Value></Tag>" for key, value in pairs)
            self._xml("Tagging", f"<TagSet>{tags}</TagSet>")
        elif self._is_refused(found):
            return
        elif call == "acl":
            self._xml("AccessControlPolicy", "<Owner><ID>o</ID></Owner><AccessControlList></AccessControlList>")
        else:
            self._get(found)

    def _list(self) -> None:
        """List the objects of a bucket, at most 1,000 at a time, with folders if there is a delimiter."""
        prefix, delimiter = self.query.get("prefix", ""), self.query.get("delimiter", "")
        after, most = self.query.get("continuation-token", ""), min(1000, int(self.query.get("max-keys", "1000")))
        found: dict[str, Object | None] = {}
        for key, value in sorted(self.server.objects.items()):
            name = key.removeprefix(self.key)
            if key.startswith(self.key) and name.startswith(prefix):
                below = name[len(prefix) :].partition(delimiter) if delimiter else (name, "", "")
                folder = prefix + below[0] + below[1] if below[1] else None
                found.setdefault(folder or name, None if folder else value)
        names = [name for name in found if name > after]
        items = []
        for name in names[:most]:
            shown = escape(quote(name) if self.query.get("encoding-type") == "url" else name)
            value = found[name]
            if value is None:
                items.append(f"<CommonPrefixes><Prefix>{shown}</Prefix></CommonPrefixes>")
                continue
            written = datetime.fromtimestamp(value.time, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
            items.append(
                f"<Contents><Key>{shown}</Key><LastModified>{written}</LastModified><ETag>{escape(value.tag)}</ETag>"
                f"<Size>{value.size}</Size><StorageClass>STANDARD</StorageClass></Contents>"
            )
        more = len(names) > most
        token = f"<NextContinuationToken>{escape(names[most - 1])}</NextContinuationToken>" if more else ""
        encoding = "<EncodingType>url</EncodingType>" if self.query.get("encoding-type") == "url" else ""
        head = f"{encoding}<Name>{self.bucket}</Name><KeyCount>{len(items)}</KeyCount><MaxKeys>{most}</MaxKeys>"
        self._xml("ListBucketResult", f"{head}<IsTruncated>{str(more).lower()}</IsTruncated>{token}{''.join(items)}")

    def _get(self, found: Object) -> None:
        wanted = self.headers.get("Range")
        start, stop = asked_range(wanted, found.size) if wanted else (0, found.size)
        if wanted and start >= stop:
            self._fail(416, "InvalidRange")
            return
        span = {"Content_Range": f"bytes {start}-{stop - 1}/{found.size}"} if wanted else {}
        self._describe(found, 206 if wanted else 200, stop - start, **span)
        for run in found.span(start, stop):
            for block in run.blocks():
                self._write(block)

    def do_PUT(self):
        names = parse_qs(urlsplit(self.path).query)
        is_part, is_copy = "partNumber" in names, "x-amz-copy-source" in self.headers
        if not self._begin("CopyPart" if is_copy else "PutPart" if is_part else "PUT"):
            return
        if is_copy:
            self._copy_part()
            return
        if is_part and not self.server.keeps_parts:
            self._take_part([Run(b"", 0, self._pass_over())])
            return
        body = self._body()
        if self.is_bucket:
            self._answer()
        elif is_part:
            self._take_part([Run(body, 0, len(body))])
        elif self._matches():
            runs = [Run(body, 0, len(body))]
            made = Object(runs, self._kept(), self.headers.get("x-amz-tagging", ""), self._tag(runs))
            self.server.objects[self.key] = made
            self._answer(200, ETag=made.tag)

    def _copy_part(self) -> None:
        source = unquote(self.headers["x-amz-copy-source"]).lstrip("/")
        source = source if self.server.buckets is not None else source.partition("/")[2]
        found = self.server.objects[source]
        if self.headers.get("x-amz-copy-source-if-match", found.tag) != found.tag:
            self._fail(412, "PreconditionFailed")
            return
        first, last = map(int, re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers["x-amz-copy-source-range"]).groups())
        if last - first >= _MOST_COPIED or last >= found.size:
            self._fail(400, "InvalidRequest")
            return
        self._take_part(found.span(first, last + 1), is_copy=True)

    def _take_part(self, runs: list[Run], *, is_copy: bool = False) -> None:
        upload = self._upload()
        if upload is None:
            return
        tag = self._tag(runs)
        with self.server.lock:
            upload["parts"][int(self.query["partNumber"])] = (tag, runs)
        if is_copy:
            self._xml("CopyPartResult", f"<ETag>{escape(tag)}</ETag>")
        else:
            self._answer(200, ETag=tag)

    def _matches(self) -> bool:
        found, wanted = self.server.objects.get(self.key), self.headers.get("If-Match")
        absent = self.headers.get("If-None-Match") == "*"
        refused = (wanted is not None and (found is None or found.tag != wanted)) or (absent and found is not None)
        if refused and not self.server.ignores_conditions:
            self._fail(412, "PreconditionFailed")
            return False
        return True

    def do_POST(self):
        names = parse_qs(urlsplit(self.path).query, keep_blank_values=True)
        call = "Create" if "uploads" in names else "Delete" if "delete" in names else "Complete"
        if not self._begin(call):
            return
        body = self._body()
        if call == "Delete":
            for key in re.findall(r"<Key>(.*?)</Key>", body.decode()):
                self.server.objects.pop(self.key + unescape(key), None)
            self._xml("DeleteResult", "")
            return
        if call == "Create":
            number = hashlib.sha256(os.urandom(8)).hexdigest()
            kept, tags = self._kept(), self.headers.get("x-amz-tagging", "")
            self.server.uploads[number] = {"key": self.key, "headers": kept, "tags": tags, "parts": {}}
            self._xml("InitiateMultipartUploadResult", f"<UploadId>{number}</UploadId>")
            return
        upload = self._upload()
        if upload is None or not self._matches():
            return
        numbers = [int(number) for number in re.findall(r"<PartNumber>(\d+)<", body.decode())]
        parts = [upload["parts"][number][1] for number in numbers]
        if any(sum(run.length for run in runs) < _LEAST_PART for runs in parts[:-1]):
            self._fail(400, "EntityTooSmall")
            return
        tags = [upload["parts"][number][0].strip('"') for number in numbers]
        made = Object([run for runs in parts for run in runs], upload["headers"], upload["tags"])
        if self.server.buckets is not None:
            made.tag = f'"{hashlib.md5(bytes.fromhex("".join(tags))).hexdigest()}-{len(tags)}"'
        self.server.objects[self.key] = made
        del self.server.uploads[self.query["uploadId"]]
        if call in self.server.loses_reply_of:
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
            return
        self._xml("CompleteMultipartUploadResult", f"<ETag>{escape(made.tag)}</ETag>")

    def do_DELETE(self):
        if not self._begin("Abort" if "uploadId" in urlsplit(self.path).query else "DELETE"):
            return
        if "uploadId" in self.query:
            self.server.uploads.pop(self.query["uploadId"], None)
        else:
            self.server.objects.pop(self.key, None)
        self._answer(204)
