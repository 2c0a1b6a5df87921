"""Create output files and objects by path or URL; each appears complete or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ozx.archive.positional_reading import COPY
from ozx.archive.remote.access import carrying_options
from ozx.atomic.new_file import NewFile, replacing_file
from ozx.atomic.syncing import flush
from ozx.atomic.targets import check_target
from ozx.flow.sources.location import Place
from ozx.threads import map_ahead

if TYPE_CHECKING:
    from ozx.archive.remote.upload import Upload

_REQUESTS = 16


@dataclass(slots=True)
class NewObject:
    """An object that is being uploaded; it has those attributes of `NewFile` that writers use."""

    descriptor: Upload  # takes the bytes
    needed: Callable[[], int] | None = None  # not used: it is for messages about a full disk
    swept: list[str] = field(default_factory=list)  # an upload removes no leftover files of killed runs


@contextmanager
def new_output(
    target: str,
    *,
    force: bool = False,
    sync: bool = True,
    expected: Callable[[], int] | None = None,
    check: Callable[[str], None] | None = None,
    **options: Any,
) -> Iterator[NewFile | NewObject]:
    """Yield a new file or object, which appears at `target` only if the ``with`` block succeeds.

    `check`: function that reads the output back. Its argument is the path of a file that does not have its final name
    yet, or the URL of a complete object.
    """
    if not Place(target).is_remote:
        with replacing_file(target, force=force, sync=sync, **options) as new:
            yield new
            if check is not None:
                if sync:
                    flush(new.descriptor)
                check(new.path)
        return
    from ozx.archive.remote.upload import Upload  # noqa: PLC0415 (few outputs are remote)

    with Upload(target, expected=0 if expected is None else expected(), force=force) as upload:
        yield NewObject(upload)
    if check is not None:
        check(target)


@contextmanager
def spooled_output(target: str, *, force: bool = False, sync: bool = True, **options: Any) -> Iterator[NewFile]:
    """Yield a new file, which becomes the file at `target`; for a URL, yield a temporary file, then upload this file.

    Writers need this if they overwrite or read bytes written earlier, or compute the length only at the end.
    """
    if not Place(target).is_remote:
        with replacing_file(target, force=force, sync=sync, **options) as new:
            yield new
        return
    if not force:
        from ozx.archive.remote.upload import check_absent  # noqa: PLC0415 (few outputs are remote)

        check_absent(target)
    descriptor, path = tempfile.mkstemp(suffix=os.path.splitext(target)[1], prefix="ozx-upload-")
    try:
        yield NewFile(descriptor, path)
        upload_file(path, target, force=force)
    finally:
        os.close(descriptor)
        os.unlink(path)


def upload_file(path: str, url: str, *, force: bool, options: Mapping[str, Any] | None = None) -> None:
    """Upload a local file."""
    from ozx.archive.remote.upload import Upload  # noqa: PLC0415 (few outputs are remote)

    with (
        open(path, "rb") as file,
        Upload(url, expected=os.fstat(file.fileno()).st_size, force=force, options=options) as upload,
    ):
        while block := file.read(COPY):
            upload.write_at(file.tell() - len(block), block)


def present_outputs(targets: Iterable[str]) -> frozenset[str]:
    """Return the outputs (paths or URLs) at which a file or object already exists."""
    remote: list[str] = []
    local: list[str] = []
    for target in targets:
        (remote if Place(target).is_remote else local).append(target)
    found = {target for target in local if os.path.lexists(target)}
    if remote:
        there = map_ahead(carrying_options(Place.exists), map(Place, remote), _REQUESTS)
        found.update(target for target, is_there in zip(remote, there, strict=True) if is_there)
    return frozenset(found)


def check_output(target: str, *, force: bool) -> None:
    """Check that a file may be written at `target`.

    For an object, this is only checked when its upload begins.
    """
    if not Place(target).is_remote:
        check_target(target, force=force)


def write_small(
    target: str, data: bytes, *, sync: bool, sync_name: bool = True, force: bool = True, mode: int | None = None
) -> None:
    """Write a small file or object; replace an existing file or object only if `force` is true."""
    with new_output(target, force=force, sync=sync, sync_name=sync_name, mode=mode) as new:
        if isinstance(new, NewObject):
            new.descriptor.write_at(0, data)
            return
        view = memoryview(data)
        while view:
            view = view[os.write(new.descriptor, view) :]
