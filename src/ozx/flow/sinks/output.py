"""Create output files and objects by path or URL; each appears complete or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import TYPE_CHECKING, Any

from ozx.atomic.new_directory import replacing_directory
from ozx.atomic.new_file import NewFile, replacing_file
from ozx.atomic.syncing import flush, sync_file
from ozx.atomic.targets import check_folder, check_target
from ozx.atomic.tree_record import TreeRecord
from ozx.errors import UsageError
from ozx.places.place import Place
from ozx.places.positional_reading import COPY
from ozx.places.remote.access import carrying_options
from ozx.threads import map_ahead
from ozx.zarr.keys import LEGACY_METADATA, METADATA

if TYPE_CHECKING:
    from ozx.cloud.upload import Upload

_REQUESTS = 16


@dataclass(slots=True)
class NewObject:
    """An object that is being uploaded; it has those attributes of `NewFile` that writers use."""

    descriptor: Upload  # takes the bytes
    needed: Callable[[], int] | None = None  # not used: it is for messages about a full disk
    swept: list[str] = field(default_factory=list)  # an upload removes no leftover files of killed runs


@dataclass(frozen=True, slots=True)
class Output:
    """Where a verb writes, what it may replace there, and whether it waits for the disk; made once, by the verb."""

    place: Place
    force: bool = False  # whether an existing file may be replaced, or a directory with Zarr metadata
    replace_folder: bool = False  # whether any existing directory may be replaced
    sync: bool = True

    @property
    def path(self) -> str:
        """The path or URL."""
        return self.place.path

    def absolute(self) -> Output:
        """Return the same output with an absolute path, because the program may change its directory."""
        return replace(self, place=self.place.absolute())

    def beside(self, ending: str) -> Output:
        """Return the output for a file that describes this one; it replaces an older one."""
        return replace(self, place=self.place.beside(ending), force=True)

    def check_surroundings(self, source: Place | None = None) -> None:
        """Raise `UsageError` if a local output is inside a hierarchy, because it would become part of this one.

        `source` may be the directory of one.

        RFC-9 (R2, 2026-04-20): "OME-Zarr zip files SHALL NOT be embedded in a parent OME-Zarr hierarchy".
        """
        if self.place.is_remote:
            return
        folder = os.path.realpath(os.path.dirname(os.path.abspath(self.path)))
        if source is not None and os.path.isdir(source.path):
            root = os.path.realpath(source.path)
            if folder == root or folder.startswith(root.rstrip(os.sep) + os.sep):
                raise UsageError(
                    f"{self.path} lies inside its own source {source.path}", hint="Choose a path outside of the source."
                )
        while True:
            for name in (METADATA, *LEGACY_METADATA):
                if os.path.exists(os.path.join(folder, name)):
                    raise UsageError(
                        f"{self.path} would lie inside another hierarchy: {folder} has a {name}; RFC-9 forbids this",
                        hint="Choose an output outside of that hierarchy.",
                    )
            parent = os.path.dirname(folder)
            if parent == folder:
                return
            folder = parent

    def check_file(self) -> None:
        """Check that a file may be written here; for an object, this is only checked when its upload begins."""
        if not self.place.is_remote:
            check_target(self.path, force=self.force)

    def check_folder(self, source: Place) -> None:
        """Check that a local directory may be written here; one that contains the source is never replaced."""
        if self.place.is_remote:
            return
        folder = os.path.realpath(self.path).rstrip(os.sep) + os.sep
        is_inside = not source.is_remote and os.path.realpath(source.path).startswith(folder)
        if is_inside and os.path.isdir(self.path):
            raise UsageError(
                f"{self.path} contains the source {source.path} and cannot be replaced", hint="Choose another name."
            )
        check_folder(self.path, force=self.force, replace_folder=self.replace_folder)

    def replaces(self, source: Place) -> bool:
        """Return whether the output is the source itself."""
        if self.path == source.path:
            return True
        is_local = not (self.place.is_remote or source.is_remote)
        paths = self.path, source.path
        return is_local and all(map(os.path.exists, paths)) and os.path.samefile(*paths)

    def sync_existing(self) -> None:
        """Wait, unless the user does not want this, until the existing local file is on the disk."""
        if self.sync and not self.place.is_remote:
            sync_file(self.path)

    @contextmanager
    def file(
        self,
        *,
        expected: Callable[[], int] | None = None,
        check: Callable[[Place], None] | None = None,
        **options: Any,
    ) -> Iterator[NewFile | NewObject]:
        """Yield a new file or object, which appears only if the ``with`` block succeeds.

        `check`: function that reads the output back, from a file that does not have its final name yet, or from a
        complete object.
        """
        if not self.place.is_remote:
            with replacing_file(self.path, force=self.force, sync=self.sync, **options) as new:
                yield new
                if check is not None:
                    if self.sync:
                        flush(new.descriptor)
                    check(Place(new.path))
            return
        from ozx.cloud.upload import Upload  # noqa: PLC0415 (few outputs are remote)

        with Upload(self.path, expected=0 if expected is None else expected(), force=self.force) as upload:
            yield NewObject(upload)
        if check is not None:
            check(self.place)

    @contextmanager
    def spooled(self) -> Iterator[NewFile]:
        """Yield a new file, which becomes the output; for a URL, yield a temporary file, then upload this file.

        Writers need this if they overwrite or read bytes written earlier, or compute the length only at the end.
        """
        if not self.place.is_remote:
            with replacing_file(self.path, force=self.force, sync=self.sync) as new:
                yield new
            return
        if not self.force:
            from ozx.cloud.upload import check_absent  # noqa: PLC0415 (few outputs are remote)

            check_absent(self.path)
        descriptor, path = tempfile.mkstemp(suffix=os.path.splitext(self.path)[1], prefix="ozx-upload-")
        try:
            yield NewFile(path, descriptor=descriptor)
            upload_file(path, self.path, force=self.force)
        finally:
            os.close(descriptor)
            os.unlink(path)

    def folder(self, recorded: TreeRecord | None = None) -> AbstractContextManager[NewFile]:
        """Yield a new local directory, which replaces an existing one only if the ``with`` block succeeds."""
        return replacing_directory(
            self.path, force=self.force, replace_folder=self.replace_folder, sync=self.sync, recorded=recorded
        )

    def write_small(self, data: bytes, *, sync_name: bool = True, mode: int | None = None) -> None:
        """Write a small file or object."""
        with self.file(sync_name=sync_name, mode=mode) as new:
            if isinstance(new, NewObject):
                new.descriptor.write_at(0, data)
                return
            view = memoryview(data)
            while view:
                view = view[os.write(new.descriptor, view) :]


def upload_file(path: str, url: str, *, force: bool, options: Mapping[str, Any] | None = None) -> None:
    """Upload a local file."""
    from ozx.cloud.upload import Upload  # noqa: PLC0415 (few outputs are remote)

    with (
        open(path, "rb") as file,
        Upload(url, expected=os.fstat(file.fileno()).st_size, force=force, options=options) as upload,
    ):
        while block := file.read(COPY):
            upload.write_at(file.tell() - len(block), block)


def present_outputs(places: Iterable[Place]) -> frozenset[Place]:
    """Return the outputs at which a file or object already exists."""
    remote: list[Place] = []
    found = set()
    for place in places:
        if place.is_remote:
            remote.append(place)
        elif os.path.lexists(place.path):
            found.add(place)
    if remote:
        found.update(compress(remote, map_ahead(carrying_options(Place.exists), remote, _REQUESTS)))
    return frozenset(found)
