"""Small archives for tests: by the writer under test, or by `zipfile` in forms that this writer never writes."""

import io
import json
import zipfile
from pathlib import Path

from hierarchies import tree

from ozx.archive.writer import ArchiveWriter
from ozx.ome.comment import make_comment
from ozx.ome.recovered import with_losses
from ozx.operations.pack import pack
from ozx.zarr.entry_order import hierarchy_order
from ozx.zarr.json_changes import dump_like
from ozx.zarr.keys import breadth_first, is_metadata_key

PROMISE = make_comment("0.5", json_first=True)


def sort_values(values: dict[str, bytes]) -> dict[str, bytes]:
    """Return `values` in the order of RFC-9: metadata breadth-first, then data."""
    metadata = sorted((key for key in values if is_metadata_key(key)), key=breadth_first)
    data = sorted((key for key in values if not is_metadata_key(key)), key=hierarchy_order)
    return {key: values[key] for key in (*metadata, *data)}


def write_archive(path, values: dict[str, bytes], comment: bytes = PROMISE) -> Path:
    path = Path(path)
    with path.open("wb") as file:
        writer = ArchiveWriter(file.fileno())
        for key, value in values.items():
            writer.add(key, value)
        writer.finish(comment)
    return path


def pack_tree(source, path, comment: bytes = PROMISE) -> Path:
    """Write the hierarchy in the directory `source` as ozx does."""
    return write_archive(path, sort_values(tree(source)), comment)


def pack_changed(source, path, change) -> Path:
    """Pack a hierarchy after `change` has edited the ``ome`` of its root, or its values."""
    values = tree(source)
    root = json.loads(values["zarr.json"])
    change(root["attributes"]["ome"], values)
    values["zarr.json"] = json.dumps(root).encode()
    return write_archive(path, sort_values(values))


def pack_with_manifest_inside(source, path, **options) -> Path:
    """Pack a hierarchy as previews of ozx did with ``--manifest-inside``: the manifest is the last entry."""
    path = Path(pack(source, path, manifest=True, sync=False, **options).path)
    beside = path.with_name(f"{path.name}.manifest.json")
    with zipfile.ZipFile(path, "a") as archive:
        archive.write(beside, "ozx-manifest.json")
    beside.unlink()
    return path


def zip_values(path, values: dict[str, bytes], comment: bytes = b"", *, deflated: bool = False) -> Path:
    """Write a ZIP file as other programs do: without ZIP64, in the order of `values`."""
    path = Path(path)
    path.write_bytes(zip_bytes(values, zipfile.ZIP_DEFLATED if deflated else zipfile.ZIP_STORED, comment))
    return path


def zip_bytes(values: dict[str, bytes], method: int = zipfile.ZIP_STORED, comment: bytes = b"") -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        archive.comment = comment
        for key, value in values.items():
            archive.writestr(key, value)
    return stream.getvalue()


def unmarked(values: dict[str, bytes]) -> dict[str, bytes]:
    """Return the values of a recovered file as they were before `recover` wrote into the root what is missing."""
    root = json.loads(values["zarr.json"]) if b'"recovered"' in values.get("zarr.json", b"") else {}
    if not root:
        return values
    stored = dump_like(with_losses(root, []), root, values["zarr.json"])
    return {**values, "zarr.json": stored}


def values_of(archive) -> dict[str, bytes]:
    """Return the values of a finished archive, or of its bytes, as Python's `zipfile` reads them, in their order."""
    with zipfile.ZipFile(io.BytesIO(archive) if isinstance(archive, bytes) else archive) as file:
        return {entry.filename: file.read(entry) for entry in file.infolist()}
