"""One timed task in a process of its own: prints seconds, growth and peak of memory as one line of JSON.

Imports are done before the clock starts, for every peer alike. What a task made is verified by whoever called it.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import sys
import time
import zipfile
from collections.abc import Callable


def _resident() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


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


def remove(path: str) -> None:
    if os.path.isdir(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


def main() -> None:
    task = globals()[sys.argv[1]](*sys.argv[2:])
    before = _resident()
    start = time.perf_counter()
    result = task()
    seconds = time.perf_counter() - start
    growth = _resident() - before
    # Linux takes over the parent's peak at fork; VmHWM is this program's own.
    with open("/proc/self/status", encoding="ascii") as file:
        peak = next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))
    del result
    print(json.dumps({"seconds": seconds, "growth": growth, "peak": peak}))


if __name__ == "__main__":
    main()
