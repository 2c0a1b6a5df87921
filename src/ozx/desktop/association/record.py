"""Record the changes of an association and the previous contents, so that the changes can be undone."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any

from ozx.errors import FormatError, UnsupportedError

VERSION = 1


@dataclass(frozen=True, slots=True)
class ListedItem:
    """An item that ozx added to a settings file of other programs; see `ozx.desktop.association.steps.PutFirst`.

    Without sections, it is an action of Thunar; see `ozx.desktop.association.steps.PutAction`.
    """

    sections: tuple[str, ...]
    key: str
    item: str


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A written file: the digest of its new content, and its old content, if any."""

    path: str
    sha256: str
    before: bytes | None = None
    listed: ListedItem | None = None


@dataclass(frozen=True, slots=True)
class MadeFiles:
    """The files that a program created in `folder`; see `ozx.desktop.association.steps.RunProgram`."""

    arguments: tuple[str, ...]
    folder: str | None = None
    keep: str | None = None
    undo: tuple[str, ...] | None = None
    files: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ChangedValue:
    """A registry value that was set, and its old value, if any."""

    key: str
    name: str
    value: str
    before: str | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """All changes of an association, stored for undoing them."""

    command: tuple[str, ...] = ()  # the command of a double-click
    files: tuple[ChangedFile, ...] = ()  # the changes of files, programs and values, each in order
    programs: tuple[MadeFiles, ...] = ()
    values: tuple[ChangedValue, ...] = ()
    folders: tuple[str, ...] = ()  # new folders, and below new registry keys
    keys: tuple[str, ...] = ()

    def to_bytes(self) -> bytes:
        """Return the record as the bytes of a JSON file."""
        document = {"version": VERSION, **asdict(self)}
        for file in document["files"]:
            if file["before"] is not None:
                file["before"] = base64.b64encode(file["before"]).decode()
        return (json.dumps(document, indent=1) + "\n").encode()

    @classmethod
    def from_bytes(cls, data: bytes, path: str) -> Record:
        """Parse the bytes of `to_bytes`; ignore unknown members.

        Raises
        ------
        FormatError
            It is not a record.
        UnsupportedError
            A later ozx wrote it, in an unknown version.
        """
        try:
            document = json.loads(data)
            version = document["version"]
            if isinstance(version, int) and version > VERSION:
                raise UnsupportedError(
                    f"expected a record of version {VERSION}; found version {version}, written by a later ozx",
                    path=path,
                    hint="Run ozx associate --remove with the newer ozx, or update this ozx.",
                )
            return cls(
                command=_strings(document["command"]),
                files=tuple(_file(item) for item in document["files"]),
                programs=tuple(_program(item) for item in document.get("programs", ())),
                values=tuple(_value(item) for item in document.get("values", ())),
                folders=_strings(document["folders"]),
                keys=_strings(document.get("keys", ())),
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise FormatError(
                f"the record of ozx associate cannot be read: {type(error).__name__}: {error}",
                path=path,
                hint="Delete the record and run ozx associate again: it takes over files that have the right content.",
            ) from None


def digest(data: bytes) -> str:
    """Return the SHA-256 of `data` in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def _file(item: dict[str, Any]) -> ChangedFile:
    before, listed = item.get("before"), item.get("listed")
    return ChangedFile(
        path=_string(item["path"]),
        sha256=_string(item["sha256"]),
        before=None if before is None else base64.b64decode(before, validate=True),
        listed=None if listed is None else _listed(listed),
    )


def _listed(item: dict[str, Any]) -> ListedItem:
    return ListedItem(_strings(item["sections"]), _string(item["key"]), _string(item["item"]))


def _program(item: dict[str, Any]) -> MadeFiles:
    undo = item.get("undo")
    return MadeFiles(
        arguments=_strings(item["arguments"]),
        folder=item.get("folder"),
        keep=item.get("keep"),
        undo=None if undo is None else _strings(undo),
        files=_strings(item.get("files", ())),
        folders=_strings(item.get("folders", ())),
    )


def _value(item: dict[str, Any]) -> ChangedValue:
    before = item.get("before")
    return ChangedValue(
        key=_string(item["key"]),
        name=_string(item["name"]),
        value=_string(item["value"]),
        before=None if before is None else _string(before),
    )


def _strings(value: Any) -> tuple[str, ...]:
    return tuple(_string(item) for item in value)


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected a string; found {value!r}")
    return value
