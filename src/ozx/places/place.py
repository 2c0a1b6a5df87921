"""Places: a file, directory or URL, and a node in it: ``cells.ozx/labels/cells``, ``cells.ozx|zip:labels/cells/``."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote, unquote, urlsplit

from ozx.atomic.targets import absolute_path
from ozx.atomic.windows import output_fault, usable_path
from ozx.errors import ResourceError, UsageError
from ozx.file_changes import modified
from ozx.places.byte_source import FileSource
from ozx.places.remote.errors import printable_url
from ozx.places.remote.urls import split_url, upload_hint
from ozx.quoting import quote as quoted
from ozx.zarr.keys import LEGACY_METADATA, METADATA, join_path

if TYPE_CHECKING:
    from ozx.places.remote.source import RemoteSource

#: A path argument.
StrPath = str | os.PathLike[str]

_SCHEME = "ozx://"
_PIPE = "|zip:"
_ENDINGS = (".ozx", ".zip")
# The formats that end a URL pipeline (ZEP 8); neuroglancer writes ``zarr``.
_FORMATS = ("zarr3", "zarr2", "zarr")
_FORMAT_AT_END = re.compile(rf"\|(?:{'|'.join(_FORMATS)}):/*$")
# At least two letters: a single one is a drive.
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
# For outputs, also chains of fsspec (simplecache::s3://…), and URLs after spaces.
_OUTPUT_URL = re.compile(r"\s*(?:[A-Za-z][A-Za-z0-9+.-]*::)*([A-Za-z][A-Za-z0-9+.-]+:)/(/?)")
_WRITABLE = re.compile(r"s3a?://", re.IGNORECASE)
_DRIVE = re.compile(r"/[A-Za-z]:(?:/|$)")
_HINT = "A node is named cells.ozx/labels/cells, or cells.ozx|zip:labels/cells/."


@dataclass(frozen=True, slots=True)
class Place:
    """A file or directory on a disk or server, and the path of a node in it; parsed once, by the verb."""

    path: str  # the archive or directory, or its URL
    node: str = ""  # the path of the node; the root's is empty
    given: str = field(default="", compare=False, repr=False)  # the text that was parsed, if it was

    @classmethod
    def parse(cls, text: StrPath, node: str = "", *, windows: bool = os.name == "nt") -> Place:
        """Return the file and the node that the location `text` names, and below it the path `node`.

        An existing file or directory named exactly `text` comes first; a path object is a path, or the form before the
        last. Otherwise:

        * ``ozx:///FILE/NODE``: absolute, percent-encoded. The file part ends with the first component that is a file,
          or that ends in .ozx or .zip and is no directory.
        * ``FILE|zip:NODE/``, where FILE is a path or URL. Only NODE is percent-decoded. ``|zarr3:`` may follow, also
          directly after a directory.
        * ``FILE.ozx/NODE``, where FILE.ozx (or .zip) is a file, or a URL whose path goes on after .ozx.
        * ``file:///FILE``, and any other URL unchanged.

        Raise `UsageError` for an empty text, and for a node URI that is relative, names no archive, or has an invalid
        node path.

        Examples
        --------
        >>> Place.parse("ozx:///data/my%20cells.ozx/labels/cells")
        Place(path='/data/my cells.ozx', node='labels/cells')
        >>> Place.parse("https://example.org/cells.ozx|zip:labels/cells/")
        Place(path='https://example.org/cells.ozx', node='labels/cells')
        >>> Place.parse("cells.ozx")
        Place(path='cells.ozx', node='')
        """
        place = _parse(text, windows=windows)
        return place if node == "" else place.at(node)

    @classmethod
    def output(cls, text: StrPath, *, windows: bool = os.name == "nt", remote: bool = False) -> Place:
        """Return the place of an output; reject URLs, except ``s3://`` if `remote` is true.

        ``s3://bucket/cells.ozx`` would be a file in a local folder called ``s3:``. Path objects drop one of two
        slashes: ``s3:/bucket/cells.ozx`` counts as a URL unless the folder ``s3:`` exists.

        Examples
        --------
        >>> Place.output("a:b.ozx", windows=False)
        Place(path='a:b.ozx', node='')
        >>> Place.output("s3://bucket/cells.ozx")
        Traceback (most recent call last):
        ozx.errors.UsageError: s3://bucket/cells.ozx: expected a path on this computer; found a URL
        """
        name = given_path(text)
        found = _OUTPUT_URL.match(name)
        if found is None or not (found[2] or not os.path.isdir(found[1])):
            fault = output_fault(name) if windows else None
            if fault is not None:
                raise UsageError(f"expected the name of an output; {fault}", path=name, hint="Choose another name.")
            return cls(usable_path(name, windows=windows))
        if remote and _WRITABLE.match(name):
            return cls(name)
        raise UsageError(
            "expected a path on this computer; found a URL"
            if not remote
            else "expected a path on this computer or an s3:// URL; found a URL that ozx only reads",
            path=printable_url(name.strip()),
            hint=_local_hint(name.strip(), windows=windows),
        )

    @classmethod
    def local(cls, text: StrPath) -> Place:
        """Return the place of a whole file or directory on this computer; reject URLs and nodes."""
        place = cls(given_path(text))
        if not os.path.lexists(place.path) and (inner := cls.parse(text)).node and not inner.is_remote:
            raise inner.whole_only("expected a whole file or directory")
        if place.is_remote and not os.path.lexists(place.path):
            raise UsageError(
                "expected a file or directory on this computer; found a URL",
                path=place.name,
                hint="Download it first, or repack it into a local file. Commands that only read metadata or pixels "
                "(ozx info, validate, view, ozx.open, …) take URLs.",
            )
        return place

    @classmethod
    def file(cls, text: StrPath, wanted: str = "file") -> Place:
        """Return the place of a whole file or directory; raise `UsageError` if `text` names a node in a file."""
        place = cls.parse(text)
        if place.node:
            raise place.whole_only(f"expected a {wanted}")
        return place

    def whole_only(self, wanted: str) -> UsageError:
        """Return the error for a node where only a whole file makes sense."""
        file = Place(self.path).name
        return UsageError(
            f"{wanted}; found the node {self.node} in a file",
            path=file,
            hint=f"Give {quoted(file)}, or make a file of the node first: ozx extract {quoted(file)} OUT.ozx --path "
            f"{quoted(self.node)}",
        )

    @property
    def is_remote(self) -> bool:
        """Whether `path` is a URL."""
        return _URL.match(self.path) is not None

    @property
    def name(self) -> str:
        """The place as it was given, for messages: a URL has no query, which may contain a signature.

        Examples
        --------
        >>> Place.parse("https://example.org/cells.ozx?signature=secret|zip:0/").name
        'https://example.org/cells.ozx'
        """
        return _printable(self.given or self.path)

    def at(self, node: str) -> Place:
        """Return the place of a node below this one; that of a directory is a sub-directory."""
        if not isinstance(node, str):
            raise UsageError(f"expected the path of a node as a text, such as A/1/0; got {node!r:.200}", path=self.name)
        below = _checked_node(self.name, node.strip("/"))
        if not below:
            return self
        if self.kind() == "a directory" or self.is_directory_url():
            place = self.inside(below)
            return replace(place, given=place.path)
        node, given = join_path(self.node, below), f"{self.given}/{below}"
        is_readable = self.given.endswith(f"/{self.node}") if self.node else self.given.lower().endswith(_ENDINGS)
        is_plain = is_readable and not self.given.startswith(_SCHEME)
        return replace(self, node=node, given=given if is_plain else self.path + _step(node))

    def address(self, zarr_format: int = 3) -> str:
        """Return the place as a URL pipeline (ZEP 8), which tensorstore and neuroglancer read as well.

        Examples
        --------
        >>> Place("/data/my cells.ozx", "labels/cells").address()
        'file:///data/my%20cells.ozx|zip:labels/cells/|zarr3:'
        >>> Place("https://example.org/cells.ome.zarr/").address(2)
        'https://example.org/cells.ome.zarr/|zarr2:'
        """
        is_folder = os.path.isdir(self.path) or (self.is_remote and self.is_directory_url())
        path = _printable(self.path)
        if not self.is_remote:
            path = os.path.abspath(path).replace(os.sep, "/").removeprefix("/")
            path = f"file:///{quote(path, safe='/:', errors='surrogateescape')}"
        return f"{path.rstrip('/')}{'/' if is_folder else _step(self.node)}|zarr{zarr_format}:"

    @property
    def uri(self) -> str:
        """The canonical location: ``ozx:///PATH`` for a local file, ``URL|zip:NODE/`` for a URL.

        Examples
        --------
        >>> Place("/data/my cells.ozx", "labels/cells").uri
        'ozx:///data/my%20cells.ozx/labels/cells'
        >>> Place("https://example.org/cells.ozx", "0").uri
        'https://example.org/cells.ozx|zip:0/'
        """
        if self.is_remote:
            return self.path + _step(self.node)
        node = quote(self.node, safe="/", errors="surrogateescape")
        path = os.path.abspath(self.path).replace(os.sep, "/").removeprefix("/")
        return f"{_SCHEME}/{quote(path, safe='/:', errors='surrogateescape')}{'/' if node else ''}{node}"

    def kind(self) -> Literal["a URL", "a node", "a directory", "a file"]:
        """Return what stands here, in the words of messages; what does not exist counts as a file."""
        if self.is_remote:
            return "a URL"
        return "a node" if self.node else "a directory" if os.path.isdir(self.path) else "a file"

    def open(self, options: Mapping[str, Any] | None = None) -> FileSource | RemoteSource:
        """Return the bytes of the file or object; neither is opened before the first read.

        `options`: settings of the object store, for a URL.
        """
        if not self.is_remote:
            return FileSource(self.path)
        from ozx.places.remote.source import RemoteSource  # noqa: PLC0415 (loads asyncio, which most runs do not need)

        return RemoteSource(self.path, options)

    def exists(self) -> bool:
        """Return whether a file or object exists here; of an object, one request asks for its length."""
        if not self.is_remote:
            return os.path.exists(self.path)
        try:
            with closing(self.open()) as source:
                source.size()
        except ResourceError as error:
            if error.errno != errno.ENOENT:
                raise
            return False
        return True

    def modified(self) -> int | None:
        """Return the modification time in nanoseconds; None for a URL."""
        return None if self.is_remote else modified(self.path)

    def read_small(self, limit: int | None = None) -> bytes:
        """Return the whole content, or its first `limit` bytes."""
        with closing(self.open()) as source:
            return source.read_at(0, source.size() if limit is None else limit)

    def beside(self, ending: str) -> Place:
        """Return the place whose name has `ending` appended; the query of a URL, such as a signature, stays last."""
        if not self.is_remote:
            return Place(self.path + ending)
        parts = split_url(self.path)
        return Place(parts._replace(path=parts.path + ending).geturl())

    def inside(self, name: str) -> Place:
        """Return the place of a file of this name in the folder."""
        is_url = self.is_remote
        return Place(f"{self.path.rstrip('/')}/{quote(name, safe='/')}" if is_url else os.path.join(self.path, name))

    def make_folder(self) -> None:
        """Create the folder if it is missing; a URL needs none."""
        if not self.is_remote:
            os.makedirs(self.path, exist_ok=True)

    def absolute(self) -> Place:
        """Return a place whose path is absolute, because the program may change its directory; a URL is unchanged."""
        return self if self.is_remote else replace(self, path=absolute_path(self.path))

    def full_path(self) -> str:
        """Return a URL unchanged, and a path as an absolute path without ``..``, for records and comparisons."""
        return self.path if self.is_remote else os.path.abspath(self.path)

    def resolved(self, real_folder: Callable[[str], str] = os.path.realpath) -> str:
        """Return a URL unchanged, and a path whose folder has no links; a new file replaces a link, not its target."""
        folder, name = os.path.split(self.full_path())
        return self.path if self.is_remote else os.path.join(real_folder(folder), name)

    def local_name(self) -> str:
        """Return the path, or the name that a copy of what stands at the URL would have in the working directory."""
        return os.path.basename(unquote(_printable(self.path).rstrip("/"))) if self.is_remote else self.path

    def is_directory_url(self) -> bool:
        """Return whether `path` is the URL of a directory.

        If the name does not show this, request the metadata of the directory.
        """
        if not self.is_remote or self.node:
            return False
        path = printable_url(self.path).lower()
        if path.endswith(("/", ".zarr")):
            return True
        if path.endswith((*_ENDINGS, ".partial")) or "?" in self.path:
            return False
        from ozx.places.remote.folder import RemoteFolder  # noqa: PLC0415 (threads, which most runs do not need)

        folder = RemoteFolder(self.path)
        return any(folder.find(key) is not None for key in (METADATA, *LEGACY_METADATA[:2]))


def given_path(path: StrPath) -> str:
    """Return a path as a string; raise `UsageError` if it is empty, for example from an unset shell variable.

    Bytes are not a path, because they are the content of a file for `ozx.is_ozx`.

    The system would treat an empty path as the working directory, or as the root directory if a slash is added.
    """
    name = os.fspath(path) if isinstance(path, str | os.PathLike) else path
    if not isinstance(name, str):
        found, hint = type(name).__name__, None
        if hasattr(name, "read") or (isinstance(name, bytes) and name.startswith(b"PK")):
            hint = "ozx.open_image and ozx.read take open files and io.BytesIO."
        elif isinstance(name, bytes):
            found, hint = f"{name!r:.200}", "Decode the path with os.fsdecode(path)."
        raise UsageError(f"expected a path as a text; got {found}", hint=hint)
    try:
        os.fsencode(name)
    except UnicodeEncodeError:
        raise UsageError(f"expected a path that can be encoded; got {name!a:.200}, with half a character") from None
    if not name:
        raise UsageError("expected a path; got an empty string", hint="Perhaps a shell variable is not set.")
    is_encoded = "://" in name and "%00" in name.partition("?")[0]
    if "\0" in name or is_encoded:  # no system allows it, and Python's functions raise various errors for it
        raise UsageError(
            "expected a path without NUL characters",
            path=printable_url(name),
            hint="No system allows it: choose another name.",
        )
    return name


def check_is_list(sources: object, function: str) -> None:
    """Raise an error if `sources` is a single path instead of a list; `function` is the function for one source."""
    if isinstance(sources, str | bytes | os.PathLike):
        raise UsageError(
            f"expected a list of sources; got the path {os.fspath(sources)!r}",
            hint=f"Write [path] or, for a pattern, glob.glob(pattern); for one source, call {function}(path).",
        )


def _local_hint(url: str, *, windows: bool) -> str:
    """Return a hint for an output that is a URL: the local path to give instead, or other advice."""
    if url.lower().startswith(("file://", _SCHEME)):
        path = _without_drive_slash(unquote(url.partition("://")[2], errors="surrogateescape"), windows=windows)
        if path.startswith("/") or windows:
            return f"Give the path itself: {path}"
    if "://" not in url:
        return (
            f"If this is a local path, create the folder {url.partition('/')[0]} first. If it is a URL, pass it as a "
            "string, not as a Path."
        )
    return upload_hint(url)


def _step(node: str) -> str:
    """Return a node as a step of a URL pipeline."""
    return f"{_PIPE}{quote(node, safe='/', errors='surrogateescape')}{'/' if node else ''}"


def _printable(name: str) -> str:
    is_url = _URL.match(name) is not None and not name.startswith(_SCHEME)
    return printable_url(name) if is_url else name


def _parse(text: StrPath, *, windows: bool) -> Place:
    name = given_path(text)
    if os.path.isfile(text) or os.path.isdir(text):
        return Place(name, given=name)
    if not isinstance(text, str):
        return _parse_plain(name, name, windows=windows)
    if text.startswith(_SCHEME):
        return _parse_ozx(text, windows=windows)
    if _PIPE in text:
        return _parse_pipeline(text, windows=windows)
    return _parse_plain(_local_path(_FORMAT_AT_END.sub("", text), windows=windows), name, windows=windows)


def _parse_ozx(text: str, *, windows: bool) -> Place:
    rest = text[len(_SCHEME) :]
    if "|" in rest and _PIPE in rest:
        raise _refused(text, f"expected ozx:// or {_PIPE}; found both")
    if not rest.startswith("/"):
        # A relative path would depend on the working directory, and its first part looks like a host name.
        raise _refused(text, "expected an absolute path after ozx:// (three slashes); found a relative one")
    whole = unquote(rest, errors="surrogateescape")
    if windows and _DRIVE.match(whole):
        whole = whole[1:]
    for component in re.finditer(r"[^/]+", whole):
        end = component.end()
        path = whole[:end]
        if os.path.isfile(path) or (path.lower().endswith(_ENDINGS) and not os.path.isdir(path)):
            node = _checked_node(text, whole[end:].removeprefix("/"))
            return Place(path.replace("/", "\\") if windows else path, node, text)
    if os.path.isdir(whole):
        raise _refused(
            text,
            "expected an archive; found a directory",
            "For a node of a directory, give the path of the node's sub-directory, without ozx://.",
        )
    raise _refused(text, "expected the path of an archive (.ozx, .zip), or of a node in it; found no archive")


def _parse_pipeline(text: str, *, windows: bool) -> Place:
    # URL pipelines of tensorstore and neuroglancer: each |scheme: reads the result of the steps before.
    base, _, rest = text.partition(_PIPE)
    node, *formats = rest.split("|")
    for step in formats:
        name, _, inside = step.partition(":")
        if name not in _FORMATS or inside.strip("/"):
            raise _refused(text, f"expected only |zarr3: after the node; found {'|' + step!r}")
    path = _local_path(base, windows=windows)
    if not path:
        raise _refused(text, f"expected a file before {_PIPE}; found nothing")
    if os.path.isdir(path):
        raise _refused(
            text, f"expected an archive before {_PIPE}; found a directory", "Give the node's sub-directory instead."
        )
    return Place(path, _checked_node(text, unquote(node, errors="surrogateescape").removeprefix("/")), text)


def _parse_plain(path: str, given: str, *, windows: bool) -> Place:
    """Return the place of a path or URL, which may go on after the name of an archive with the path of a node."""
    is_url = _URL.match(path) is not None
    whole, mark, query = path.partition("?") if is_url else (path, "", "")
    for end in re.finditer(r"(?i)\.ozx(?=/)" if is_url else r"(?i)\.(?:ozx|zip)(?=[/\\])", whole):
        archive, rest = whole[: end.end()], whole[end.end() :]
        if is_url or (os.path.isfile(archive) and (windows or rest[0] == "/")):
            node = unquote(rest, errors="surrogateescape") if is_url else rest.replace("\\", "/") if windows else rest
            if node.strip("/"):
                return Place(f"{archive}{mark}{query}", _checked_node(path, node.lstrip("/")), given)
    return Place(path, given=given)


def _local_path(text: str, *, windows: bool) -> str:
    """Return the local path of a ``file:`` URL; return any other text unchanged."""
    if not text.lower().startswith("file://"):
        return text
    try:
        parts = urlsplit(text)
    except ValueError as error:  # file://[
        raise _refused(text, f"expected a URL; {error}") from None
    if parts.netloc not in ("", "localhost"):
        raise _refused(text, f"expected a file on this computer; found one on {parts.netloc}")
    path = unquote(text[len("file://") + len(parts.netloc) :], errors="surrogateescape")
    return _without_drive_slash(path, windows=windows)


def _without_drive_slash(path: str, *, windows: bool) -> str:
    return path[1:].replace("/", "\\") if windows and _DRIVE.match(path) else path


def _checked_node(text: str, node: str) -> str:
    node = node.removesuffix("/")
    # Zarr core 3.1, "Node names": not empty, not only periods. Readers refuse ZIP entry names with NUL.
    for name in node.split("/") if node else ():
        if not name.strip(".") or "\0" in name:
            raise _refused(text, f"expected node names between slashes; found {name!r}")
    return node


def _refused(text: str, message: str, hint: str = _HINT) -> UsageError:
    return UsageError(message, path=_printable(text), hint=hint)
