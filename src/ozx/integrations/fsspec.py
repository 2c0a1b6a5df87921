"""Access .ozx files through fsspec with the protocol ``ozx``, read-only.

``ozx:///data/cells.ozx/0/zarr.json`` is the entry ``0/zarr.json`` of the file ``/data/cells.ozx``. Entries are served
as stored; `ozx.open` shows the hierarchy with normalised metadata.
"""

from __future__ import annotations

import errno
import os
from typing import Any
from urllib.parse import quote, unquote

from fsspec.asyn import AsyncFileSystem
from fsspec.implementations.local import make_path_posix
from fsspec.spec import AbstractBufferedFile
from zarr.abc.store import RangeByteRequest

from ozx.archive.records import STORED
from ozx.errors import UnsupportedError, UsageError
from ozx.places.place import Place
from ozx.store.reading import ArchiveSession

_SCHEME = "ozx://"


class OzxFile(AbstractBufferedFile):  # type: ignore[misc] # fsspec has no types
    """An entry of an archive, open for reading as a binary file: `seek`, `read`, `readinto` and so on.

    One read fetches and keeps `block_size` bytes, by default 65,536; a deflated entry is read whole.

    Examples
    --------
    >>> import fsspec
    >>> with fsspec.filesystem("ozx").open("cells.ozx/zarr.json", block_size=1024) as file:
    ...     file.seek(-1, 2) == file.size - 1, file.read()
    (True, b'}')
    """

    # Reading ahead helps remote files and small steps; random reads in a shard should not cost 5 MiB each.
    DEFAULT_BLOCK_SIZE = 1 << 16

    def _fetch_range(self, start: int, end: int) -> bytes:
        data: bytes = self.fs.cat_file(self.path, start, end)
        return data


class OzxFileSystem(AsyncFileSystem):  # type: ignore[misc] # fsspec has no types
    """A file system with the entries of any number of .ozx files as its files.

    A path is the path of an archive, followed by the path in the archive. A URL has the form that `ozx.open` accepts,
    percent-encoded and absolute. Each object, and its copies in other processes, keep the opened archives: all bytes of
    an archive come from the same version, and reading raises an error once the file is replaced. A new object reads the
    new file, and every opening by URL makes a new object. After `invalidate_cache`, the old object reads the new
    file, too.

    Parameters
    ----------
    *args, **options
        The arguments of every fsspec file system; they have no effect.

    Raises
    ------
    UsageError
        By all methods, for a URL of a relative path.
    FileNotFoundError, IsADirectoryError
        There is no such entry, or it is a folder; or the path does not lead to an .ozx file.
    FormatError, UnsupportedError
        The file is not a readable archive; the entry is damaged, encrypted or compressed by an unknown method; or the
        file was replaced since it was opened.

    Examples
    --------
    >>> import fsspec
    >>> files = fsspec.filesystem("ozx")
    >>> files.cat_file("cells.ozx/zarr.json", 0, 1)
    b'{'
    >>> url = files.unstrip_protocol("cells.ozx")  # ozx:///folder/cells.ozx
    >>> with fsspec.open(f"{url}/zarr.json") as file:
    ...     file.read(1)
    b'{'
    >>> [path.rpartition("cells.ozx/")[2] for path in files.glob(f"{url}/*/zarr.json")]
    ['0/zarr.json', '1/zarr.json', '2/zarr.json', 'labels/zarr.json']
    """

    protocol = "ozx"
    root_marker = "/"
    # fsspec would return the same object for ever, but opening a replaced file again must show the new one. An object
    # keeps only an open file and its directory, which are cheap to read.
    cachable = False
    # Methods without underscore are those of AbstractFileSystem, which call the three methods defined here. So they
    # bypass fsspec's event loop: this is faster, and works in forked processes.
    mirror_sync_methods = False

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._sessions: dict[str, ArchiveSession] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return (*super().__reduce__(), {"_sessions": self._sessions})

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        """Return the absolute path of a URL, decoded, with forward slashes and no slash at the end."""
        if isinstance(path, list):
            return [cls._strip_protocol(item) for item in path]
        text: str = os.fspath(path)
        if text.startswith(_SCHEME):
            text = unquote(text.removeprefix(_SCHEME), errors="surrogateescape")
            if not text.startswith("/"):
                raise UsageError(
                    "expected an absolute path after ozx://, with three slashes; found a relative one",
                    path=str(path),
                    hint="Leave out ozx:// for a path below the working directory.",
                )
        return make_path_posix(text).rstrip("/") or cls.root_marker

    def unstrip_protocol(self, name: str) -> str:
        """Return the URL of a path, percent-encoded, with three slashes also on Windows."""
        path = quote(self._strip_protocol(name), safe="/:", errors="surrogateescape")
        return f"{_SCHEME}{path}" if path.startswith("/") else f"{_SCHEME}/{path}"

    def info(self, path: str, **options: Any) -> dict[str, Any]:
        """Return `name`, `size` in bytes and `type` of an entry or a folder, and `crc32` of an entry."""
        del options
        path = self._strip_protocol(path)
        session, key = self._locate(path)
        return self._describe(session, key, path)

    def ls(self, path: str, detail: bool = True, **options: Any) -> list[Any]:  # noqa: FBT001, FBT002 (fsspec's)
        """Return the items in a folder, or one entry: names or, with `detail`, dictionaries as from `info`."""
        del options
        path = self._strip_protocol(path)
        session, key = self._locate(path)
        found = [self._describe(session, key, path)]
        if found[0]["type"] == "directory":
            prefix = f"{key}/" if key else ""
            with session.keys() as keys:
                children = sorted(keys.children(key))
            found = [self._describe(session, prefix + child, f"{path}/{child}") for child in children]
        return found if detail else [item["name"] for item in found]

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **options: Any) -> bytes:
        """Return the value of an entry, or its slice from `start` to `end`, which count from the end if negative.

        A whole value is checked against its CRC-32.
        """
        del options
        path = self._strip_protocol(path)
        session, key = self._locate(path)
        data = session.read(key, _requested(session, key, start, end))
        if data is None:
            raise _missing(session, key, path)
        return data

    def archive_session_at(self, path: str) -> tuple[ArchiveSession, str]:
        """Return the open archive to which a path leads, and the key in the archive; the codec pipeline calls this.

        Parameters
        ----------
        path
            A path or URL below an .ozx file, or the file itself.

        Raises
        ------
        FileNotFoundError
            The path does not lead to an .ozx file.
        """
        return self._locate(self._strip_protocol(path))

    def invalidate_cache(self, path: str | None = None) -> None:
        """Close the open archives; with `path`, only archives below `path`, or the archive that contains `path`."""
        here = "/" if path is None else f"{self._strip_protocol(path).rstrip('/')}/"
        for archive in list(self._sessions):
            there = f"{archive}/"
            if path is None or here.startswith(there) or there.startswith(here):
                self._sessions.pop(archive, None)
        super().invalidate_cache(path)

    async def _info(self, path: str, **options: Any) -> dict[str, Any]:
        return self.info(path, **options)

    async def _ls(self, path: str, detail: bool = True, **options: Any) -> list[Any]:  # noqa: FBT001, FBT002
        return self.ls(path, detail, **options)

    async def _cat_file(self, path: str, start: int | None = None, end: int | None = None, **options: Any) -> bytes:
        # A local read takes microseconds, less than its hand-over to a thread.
        return self.cat_file(path, start, end, **options)

    async def _get_file(self, rpath: str, lpath: str, **options: Any) -> None:
        self.get_file(rpath, lpath, **options)

    async def _pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **options: Any) -> None:
        del value, mode, options
        raise _read_only(path)

    async def _rm_file(self, path: str, **options: Any) -> None:
        del options
        raise _read_only(path)

    def _open(
        self,
        path: str,
        mode: str = "rb",
        block_size: int | None = None,
        autocommit: bool = True,  # noqa: FBT001, FBT002 (fsspec's)
        cache_options: dict[str, Any] | None = None,
        **options: Any,
    ) -> OzxFile:
        if mode != "rb":
            raise _read_only(path)
        session, key = self._locate(path)
        index = session.find(key)
        if index is None:
            raise _missing(session, key, path)
        if session.reader.columns.methods[index] != STORED:
            options["cache_type"] = "all"  # each part of a deflated value would inflate it from the start
        return OzxFile(self, path, mode, block_size, autocommit, cache_options=cache_options, **options)

    def _locate(self, path: str) -> tuple[ArchiveSession, str]:
        """Return the open archive to which `path` leads, and the key in the archive: the end of the path."""
        end = path.find("/", 1)
        while end >= 0:
            session = self._sessions.get(path[:end])
            if session is not None:
                return session, path[end + 1 :]
            end = path.find("/", end + 1)
        try:
            location = Place.parse(self.unstrip_protocol(path))
        except UsageError as error:
            raise FileNotFoundError(errno.ENOENT, error.message, path) from None
        if not os.path.exists(location.path):  # the error that fsspec's users expect
            raise FileNotFoundError(errno.ENOENT, "there is no such file", location.path)
        session = self._sessions.setdefault(location.path, ArchiveSession(location.open()))
        return session, location.node

    def _describe(self, session: ArchiveSession, key: str, path: str) -> dict[str, Any]:
        columns = session.reader.columns
        index = session.find(key) if key else None
        if index is not None:
            size, checksum = int(columns.uncompressed_sizes[index]), int(columns.crc32s[index])
            return {"name": path, "size": size, "type": "file", "crc32": checksum}
        if key and not _is_folder(session, key):
            raise _missing(session, key, path)
        return {"name": path, "size": 0, "type": "directory"}


def _is_folder(session: ArchiveSession, key: str) -> bool:
    with session.keys() as keys:
        return next(keys.children(key), None) is not None


def _missing(session: ArchiveSession, key: str, path: str) -> OSError:
    if _is_folder(session, key):
        return IsADirectoryError(errno.EISDIR, "it is a folder, not an entry", path)
    return FileNotFoundError(errno.ENOENT, "there is no such entry in the archive", path)


def _requested(session: ArchiveSession, key: str, start: int | None, end: int | None) -> RangeByteRequest | None:
    if start is None and end is None:
        return None
    first, last, _ = slice(start, end).indices(session.size(key) or 0)
    return RangeByteRequest(first, max(first, last))


def _read_only(path: str) -> UnsupportedError:
    return UnsupportedError(
        "the file system ozx:// is read-only",
        path=path,
        hint='Write with a zarr store: ozx.OzxStore(path, mode="w"), or mode="a" to add to a file.',
    )
