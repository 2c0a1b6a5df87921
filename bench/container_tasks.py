"""Tasks on containers: each returns the function that is timed. The caller verifies the written files."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable


def ozx_pack(source: str, out: str) -> Callable[[], object]:
    import ozx

    pack = ozx.pack
    return lambda: pack(source, out, sync=False)


def ozx_pack_sync(source: str, out: str) -> Callable[[], object]:
    import ozx

    pack = ozx.pack
    return lambda: pack(source, out)


def zipfile_pack(source: str, out: str) -> Callable[[], object]:
    def run() -> None:
        with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
            for folder, folders, names in os.walk(source):
                folders.sort()
                for name in sorted(names):
                    path = os.path.join(folder, name)
                    archive.write(path, os.path.relpath(path, source))

    return run


def ngff_zarr_pack(source: str, out: str) -> Callable[[], object]:
    from ngff_zarr.rfc9_zip import write_store_to_zip

    return lambda: write_store_to_zip(source, out)


def ozx_unpack(archive: str, out: str) -> Callable[[], object]:
    import ozx

    unpack = ozx.unpack
    return lambda: unpack(archive, out, sync=False)


def ozx_unpack_sync(archive: str, out: str) -> Callable[[], object]:
    import ozx

    unpack = ozx.unpack
    return lambda: unpack(archive, out)


def ozx_open(archive: str) -> Callable[[], object]:
    from ozx.archive.reader import ArchiveReader

    def run() -> object:
        reader = ArchiveReader(archive)
        found = reader.find("0/zarr.json")
        assert found == 1 and len(reader) > 1
        return reader

    return run


def zipfile_open(archive: str) -> Callable[[], object]:
    def run() -> object:
        opened = zipfile.ZipFile(archive)
        assert opened.getinfo("0/zarr.json").file_size > 0
        return opened

    return run


def ozx_info(archive: str) -> Callable[[], object]:
    import ozx

    inspect = ozx.inspect
    return lambda: inspect(archive).to_dict()


def ozx_ls_nodes(archive: str) -> Callable[[], object]:
    import ozx

    list_entries = ozx.list_entries
    return lambda: list_entries(archive, nodes=True).to_dict()
