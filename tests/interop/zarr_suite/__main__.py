"""Run zarr-python's own tests of arrays, indexing and codecs on `ozx.Array` and its codec pipeline.

``python -m tests.interop.zarr_suite`` gets the source distribution of the installed zarr-python from the package index.
With ``--slow``, it runs the property tests, too. zarr-python's newest release needs Python 3.12 or later.
"""

import os
import subprocess
import sys
import tarfile
import tempfile
from importlib.metadata import version
from pathlib import Path

# Some of these files came with zarr-python 3.2 to 3.4.
FILES = (
    *("test_array.py", "test_indexing.py", "test_codecs", "test_group.py", "test_api.py"),
    *("test_resize.py", "test_unified_chunk_grid.py"),
)
SLOW_FILES = ("test_properties.py", "test_array_stateful.py")
# Less than one test in a hundred, each with the reason.
LEFT_OUT = (
    # They count the calls of the store's `get`, or replace its methods; the engine reads the file itself.
    "test_indexing.py::test_accessed_chunks",
    "test_codecs/test_sharding_unit.py::test_load_partial_shard_forwards_global_config_to_get_ranges",
    "test_codecs/test_sharding_unit.py::test_load_partial_shard_per_array_config_overrides_global",
    "test_codecs/test_sharding_unit.py::test_load_partial_shard_uses_config_defaults",
    # It asks whether a method of zarr-python's sharding codec was called.
    "test_codecs/test_sharding_unit.py::test_bulk_decode_engagement_and_correctness",
    # It looks for chunks in the dictionary that it gave as the store.
    "test_unified_chunk_grid.py::test_resize_uniform_rectilinear_appends_edge",
    # An array gets its pipeline after zarr-python has made its own, so that both warn, in the same words.
    "test_codecs/test_codecs.py::test_sharding_warning_fires_once_per_open",
)


def main(arguments: list[str]) -> int:
    is_slow, here, number = "--slow" in arguments, Path(__file__).parent, version("zarr")
    with tempfile.TemporaryDirectory(prefix="zarr-suite-") as folder:
        download = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", "zarr"]
        subprocess.run([*download, "--dest", folder, f"zarr=={number}"], check=True)
        with tarfile.open(next(Path(folder).glob("*.tar.gz"))) as archive:
            archive.extractall(folder, filter="data")
        root = Path(folder) / f"zarr-{number}"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "plugin", "-p", "no:cacheprovider"]
        settings = ["addopts=", "asyncio_mode=auto", "filterwarnings=ignore"]
        left_out = [argument for test in LEFT_OUT for argument in ("--deselect", f"tests/{test}")]
        files = [f"tests/{name}" for name in (*FILES, *(SLOW_FILES if is_slow else ()))]
        slow = ["--run-slow-hypothesis"] if is_slow else []
        return subprocess.run(
            [
                *(*command, *(f"--override-ini={setting}" for setting in settings), *left_out, *slow),
                *(name for name in files if (root / name).exists()),
            ],
            cwd=root,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join([str(here), os.environ.get("PYTHONPATH", "")]),
                "ZARR_CODEC_PIPELINE__PATH": "ozx.store.pixels.configured.StorePipeline",
            },
            check=False,
        ).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
