"""Run zarr-python's own tests of arrays, indexing and codecs through ozx's codec pipeline.

``python -m tests.interop.zarr_suite`` gets the source distribution of the installed zarr-python from the package index.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
from importlib.metadata import version
from pathlib import Path

FILES = ("tests/test_array.py", "tests/test_indexing.py", "tests/test_codecs")
LEFT_OUT = {
    # These tests count the calls of the store's `get`, or read the dictionary of the store in memory.
    "tests/test_indexing.py::test_accessed_chunks",
    "tests/test_codecs/test_sharding.py::test_nested_sharding_rejects_indivisible_inner_chunk_shape",
}


def main() -> int:
    """Return the exit code of pytest."""
    here, number = Path(__file__).parent, version("zarr")
    with tempfile.TemporaryDirectory(prefix="zarr-suite-") as folder:
        download = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", "zarr"]
        subprocess.run([*download, "--dest", folder, f"zarr=={number}"], check=True)
        with tarfile.open(next(Path(folder).glob("*.tar.gz"))) as archive:
            archive.extractall(folder, filter="data")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "plugin", "-p", "no:cacheprovider"]
        settings = ["addopts=", "asyncio_mode=auto", "filterwarnings=ignore"]
        left_out = [argument for test in LEFT_OUT for argument in ("--deselect", test)]
        return subprocess.run(
            [*command, *(f"--override-ini={setting}" for setting in settings), *left_out, *FILES],
            cwd=Path(folder) / f"zarr-{number}",
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join([str(here), os.environ.get("PYTHONPATH", "")]),
                "ZARR_CODEC_PIPELINE__PATH": "ozx.store.pixels.configured.StorePipeline",
            },
            check=False,
        ).returncode


if __name__ == "__main__":
    sys.exit(main())
