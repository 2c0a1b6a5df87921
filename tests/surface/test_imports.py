"""What starting a command may load: a program that is run a thousand times a day must start fast."""

import shutil
import subprocess
import sys

import numpy as np
import pytest
import tifffile
from hierarchies import FIXTURES
from packed import pack_tree

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
    ("command", "unloaded"),
    [
        *(
            (command, HEAVY | {"asyncio", "zipfile", "importlib.metadata"})
            for command in (
                "info a.ozx",
                "info a.ozx --json",
                "info a.ome.zarr",
                "ls a.ozx --nodes",
                "ls a.ozx --nodes --json",
                "cat a.ozx zarr.json",
            )
        ),
        ("edit a.ozx --pixel-size x=0.65 --dry-run", HEAVY),
        ("pack a.ome.zarr b.ozx --checksum sha256", HEAVY),
        ("import a.tif new.ozx", HEAVY - {"numpy", "numcodecs"}),
        pytest.param("ls a.ozx", {"zarr", "pydantic", "dask", "rich"}, marks=pytest.mark.ci),
        pytest.param("unpack a.ozx out", {"zarr", "pydantic", "dask", "rich"}, marks=pytest.mark.ci),
    ],
)
def test_a_command_loads_no_library_that_it_does_not_need(tmp_path, monkeypatch, command, unloaded):
    monkeypatch.chdir(tmp_path)
    pack_tree(FIXTURES / "image.ome.zarr", tmp_path / "a.ozx")
    shutil.copytree(FIXTURES / "image.ome.zarr", tmp_path / "a.ome.zarr")
    tifffile.imwrite("a.tif", np.zeros((30, 40), "uint8"))
    assert loaded_by(*command.split()) & unloaded == set()


def test_is_ozx_needs_no_numpy(tmp_path):
    pack_tree(FIXTURES / "image.ome.zarr", tmp_path / "a.ozx")
    code = "import ozx, sys; assert ozx.is_ozx(sys.argv[1]); assert not {'numpy', 'zarr'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "a.ozx")], check=True)
