"""The kinds of places from which ozx reads and to which it writes, each with its server, for the contract suites."""

import itertools
import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import reference_s3
from buckets import use_endpoint
from cases.archive_builder import write_tree
from drawn import Form, Hierarchy
from hierarchies import tree
from hypothesis import strategies as st
from servers import FolderServer, RangeServer, serving, serving_folder

SOURCES = ("directory", "archive", "archive by HTTP", "archive on S3", "prefix on S3", "directory by HTTP")
LOCAL = SOURCES[:2]
#: These sources have every file of the hierarchy; a directory by HTTP cannot be listed.
WHOLE = SOURCES[:5]

# The calls without which ozx works, too, as on Windows.
POSIX = ("pread", "preadv", "readv", "pwrite", "pwritev", "copy_file_range")


def sizes_of(small: dict[str, list[int]]) -> st.SearchStrategy[dict[str, int]]:
    """Draw the usual sizes, or blocks and stores so small that drawn hierarchies take the ways of large ones."""
    drawn = {name: st.sampled_from(each) for name, each in small.items()}
    return st.one_of(st.just({}), st.fixed_dictionaries(drawn))


@contextmanager
def changed_sizes(small: dict[str, int], *, posix: bool = True) -> Iterator[None]:
    """Set sizes, and take the calls of POSIX systems away unless `posix`."""
    with pytest.MonkeyPatch.context() as patch:
        for name, size in small.items():
            patch.setattr(name, size)
        for name in () if posix else POSIX:
            patch.delattr(os, name, raising=False)
        yield


class Places:
    """A folder and three servers, for as long as a module of tests runs."""

    def __init__(self, folder: Path, files: RangeServer, folders: FolderServer, s3: reference_s3.Server) -> None:
        self.folder, self.files, self.folders, self.s3 = folder, files, folders, s3
        self._numbers = itertools.count()

    def new(self, ending: str = "") -> Path:
        return self.folder / f"n{next(self._numbers)}{ending}"

    def put(self, hierarchy: Hierarchy, form: Form = Form(), kinds=SOURCES) -> dict[str, str]:  # noqa: B008
        """Put a hierarchy into places of several kinds, in archives of a form; return their paths and URLs."""
        for old in self.folder.iterdir():
            shutil.rmtree(old) if old.is_dir() else old.unlink()
        self.s3.objects.clear()
        name, archive = f"n{next(self._numbers)}", form.build(hierarchy.values)
        found = {
            "directory": os.fspath(self.folder / f"{name}.ome.zarr"),
            "archive": os.fspath(self.folder / f"{name}.ozx"),
            "archive by HTTP": self.files.url,
            "archive on S3": f"s3://b/{name}.ozx",
            "prefix on S3": f"s3://b/{name}.ome.zarr",
            "directory by HTTP": f"{self.folders.url}/{name}.ome.zarr",
        }
        write_tree(found["directory"], hierarchy.values)
        Path(found["archive"]).write_bytes(archive)
        self.files.data = archive
        self.s3.put(f"{name}.ozx", archive)
        for key, data in hierarchy.values.items() if "prefix on S3" in kinds else ():
            self.s3.put(f"{name}.ome.zarr/{key}", data)
        for server in (self.files, self.folders):
            server.take_requests()
        self.s3.calls.clear()
        return {kind: found[kind] for kind in kinds}

    def output(self, kind: str, ending: str = ".ozx") -> str:
        path = self.new(ending)
        return f"s3://b/{path.name}" if "S3" in kind else os.fspath(path)

    def written(self, out: str) -> bytes | dict[str, bytes] | None:
        """Return what was written: the bytes of a file, or those of each file of a directory; None if nothing was."""
        if not out.startswith("s3://"):
            return tree(out) if os.path.isdir(out) else Path(out).read_bytes() if os.path.exists(out) else None
        key = out.removeprefix("s3://b/")
        if key in self.s3.objects:
            return self.s3.get(key)
        return {
            name[len(key) + 1 :]: self.s3.get(name) for name in self.s3.objects if name.startswith(f"{key}/")
        } or None


@contextmanager
def started(folder: Path) -> Iterator[Places]:
    """Start the servers, and set the environment for them."""
    (folder / "served").mkdir()
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        s3 = stack.enter_context(reference_s3.serving())
        use_endpoint(s3.url, patch)
        yield Places(
            folder / "served",
            stack.enter_context(serving(b"")),
            stack.enter_context(serving_folder(folder / "served")),
            s3,
        )


@pytest.fixture(scope="module")
def places(tmp_path_factory) -> Iterator[Places]:
    """A folder and servers; each is started once for a module."""
    for package in ("obstore", "boto3"):
        pytest.importorskip(package, reason=f"{package} is not installed")
    with started(tmp_path_factory.mktemp("places")) as found:
        yield found
