"""What starting a command may load: a program that is run a thousand times a day must start fast."""

import subprocess
import sys

import numpy as np
import pytest
import tifffile
from hierarchies import FIXTURES

LISTING = """
import sys
from ozx.cli.app import run
code = run({arguments!r})
print(sorted(sys.modules), file=sys.stderr)
sys.exit(code)
"""

HEAVY = {
    "PIL",
    "numpy",
    "zarr",
    "pydantic",
    "pydantic_core",
    "dask",
    "rich",
    "numcodecs",
    "tensorstore",
    "ome_zarr_models",
}

#: All that `ozx --help` may load besides the standard library.
HELP_MAY_IMPORT = {
    "click",
    "ozx",
    "ozx.cli",
    "ozx.cli.app",
    "ozx.cli.exit_codes",
    "ozx.cli.output",
    "ozx.errors",
    "ozx.missing_files",
    "ozx.quoting",
    "ozx.faults",
    "ozx.progress",
}


def loaded_by(*arguments):
    command = [sys.executable, "-c", LISTING.format(arguments=[str(argument) for argument in arguments])]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(eval(result.stderr.strip().splitlines()[-1]))


def test_importing_ozx_loads_nothing_heavy():
    code = "import ozx, sys; print(*sorted(name for name in sys.modules if name.startswith('ozx')))"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert output == ["ozx"]


def test_help_loads_click_and_little_else():
    modules = loaded_by("--help")
    assert not HEAVY & modules
    known = set(sys.stdlib_module_names)
    others = {name for name in modules if name.partition(".")[0] not in known and not name.startswith(("_", "click."))}
    others -= {name for name in others if name.startswith("sitecustomize") or "editable" in name}
    assert others <= HELP_MAY_IMPORT, others - HELP_MAY_IMPORT


@pytest.mark.parametrize(
    "command", ["info", "pack", *(pytest.param(name, marks=pytest.mark.ci) for name in ("ls", "unpack"))]
)
def test_everyday_commands_load_neither_zarr_nor_pydantic_nor_dask(tmp_path, command):
    source, packed = FIXTURES / "image.ome.zarr", tmp_path / "a.ozx"
    modules = loaded_by("pack", source, packed)
    if command != "pack":
        arguments = {"info": [packed], "ls": [packed], "unpack": [packed, tmp_path / "out"]}[command]
        modules = loaded_by(command, *arguments)
    assert not {"zarr", "pydantic", "dask", "rich"} & modules


def test_packing_needs_no_numpy(tmp_path):
    assert "numpy" not in loaded_by("pack", FIXTURES / "image.ome.zarr", tmp_path / "a.ozx", "--checksum", "sha256")


@pytest.mark.parametrize("arguments", [["info"], ["ls", "--nodes"]])
def test_reading_the_head_of_an_archive_needs_no_numpy(tmp_path, arguments):
    packed = tmp_path / "a.ozx"
    loaded_by("pack", FIXTURES / "image.ome.zarr", packed)
    assert "numpy" not in loaded_by(*arguments, packed)


def test_is_ozx_needs_no_numpy(tmp_path):
    loaded_by("pack", FIXTURES / "image.ome.zarr", tmp_path / "a.ozx")
    code = "import ozx, sys; assert ozx.is_ozx(sys.argv[1]); assert not {'numpy', 'zarr'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "a.ozx")], check=True)


def test_importing_a_tiff_file_needs_no_zarr(tmp_path):
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, np.zeros((30, 40), "uint8"))
    modules = loaded_by("import", path)
    assert not {"zarr", "PIL", "pydantic", "dask", "distributed", "rich"} & modules
