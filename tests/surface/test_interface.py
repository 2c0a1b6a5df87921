"""The public names, what their errors are, and the schemas of the answers that docs/interface.md describes."""

import errno
import importlib.resources
import inspect as python_inspect
import json
import re
from pathlib import Path

import jsonschema
import numpy as np
import pytest

import ozx
from ozx.cli.app import COMMANDS, load_command
from ozx.integrations.fsspec import OzxFile, OzxFileSystem

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "interface.md").read_text(encoding="utf-8")


def parameters_of(value):
    return python_inspect.signature(value).parameters if python_inspect.isfunction(value) else {}


@pytest.mark.parametrize(("former", "name"), [("import_tiff", "import_image"), ("import_tiffs", "import_images")])
def test_a_former_name_works_with_a_warning(former, name):
    with pytest.warns(ozx.OzxWarning, match=f"ozx.{former} is now called ozx.{name}"):
        assert getattr(ozx, former) is getattr(ozx, name)
    assert former not in dir(ozx)


def test_every_public_name_is_there():
    for name in ozx.__all__:
        assert getattr(ozx, name) is not None
    assert set(ozx.__all__) <= set(dir(ozx))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        ozx.nonsense  # noqa: B018


def test_the_file_system_takes_no_option_of_its_own():
    kinds = {parameter.kind.name for parameter in python_inspect.signature(OzxFileSystem).parameters.values()}
    assert kinds == {"VAR_POSITIONAL", "VAR_KEYWORD"}
    assert OzxFile.DEFAULT_BLOCK_SIZE == 65_536


def test_a_store_without_a_file_raises_no_error_that_zarr_would_take_for_a_missing_key(tmp_path):
    with pytest.raises(ozx.ResourceError, match="there is no such file") as caught:
        ozx.OzxStore(tmp_path / "absent.ozx").get_sync("zarr.json")
    assert not isinstance(caught.value, FileNotFoundError)


@pytest.mark.parametrize(
    "call",
    [
        *(ozx.open, ozx.open_array, ozx.open_image, ozx.read, ozx.inspect, ozx.list_entries, ozx.validate, ozx.is_ozx),
        *(ozx.pack, ozx.unpack, ozx.import_image),
        lambda path: ozx.open(path, live=True),
        lambda path: ozx.edit(path, name="Cells"),
        lambda path: ozx.thumbnail(path, path.with_suffix(".png")),
        lambda path: ozx.thumbnail(path, cache=True),
        lambda path: list(ozx.read_value(path, "zarr.json")),
        lambda path: ozx.repack(path, path.with_suffix(".out.ozx")),
        lambda path: ozx.extract(path, path.with_suffix(".out.ozx")),
        lambda path: ozx.export(path, path.with_suffix(".ome.tif")),
        lambda path: ozx.recover(path, path.with_suffix(".out.ozx")),
    ],
)
def test_what_is_not_there_is_our_error_and_pythons_own_elsewhere(tmp_path, call):
    path = str(tmp_path / "absent.ozx")
    with pytest.raises(FileNotFoundError) as caught:
        call(tmp_path / "absent.ozx")
    assert isinstance(caught.value, ozx.ResourceError)
    assert caught.value.errno == errno.ENOENT
    assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.parametrize("name", [name for name in ozx.__all__ if "progress" in parameters_of(getattr(ozx, name))])
def test_no_progress_is_the_default_of_every_function(name):
    assert parameters_of(getattr(ozx, name))["progress"].default is None


@pytest.mark.parametrize("call", [ozx.pack, ozx.open, ozx.inspect, ozx.validate, ozx.import_image, ozx.read_value])
@pytest.mark.parametrize("path", [np.zeros(3), 7, None, b"a.ozx", "a\ud800.ozx"])
def test_what_is_no_path_is_refused(call, path):
    with pytest.raises(ozx.UsageError, match="expected a path"):
        list(call(path, *(["zarr.json"] if call is ozx.read_value else [])))


@pytest.mark.parametrize("call", [ozx.pack, ozx.repack, ozx.unpack, ozx.extract, ozx.export, ozx.recover])
def test_an_array_is_no_flag(tmp_path, call):
    with pytest.raises(ozx.UsageError, match="expected True or False for force; got ndarray"):
        call(tmp_path / "a.ozx", tmp_path / "b", force=np.zeros(3))


def test_the_first_line_of_each_help_is_the_one_in_the_list():
    for name, summary in COMMANDS.items():
        assert (load_command(name).help or "").strip().splitlines()[0] == summary


def test_every_schema_is_a_schema_and_belongs_to_a_command():
    schemas = sorted((ROOT / "src" / "ozx" / "schemas").glob("*.json"))
    without = {"cat", "help", "serve", "view"}
    assert {path.stem for path in schemas} == set(COMMANDS) - without | {"many"}
    for path in schemas:
        jsonschema.Draft202012Validator.check_schema(json.loads(path.read_text(encoding="utf-8")))


def test_json_examples_on_the_page_match_the_schemas():
    examples = re.findall(r"^### (\w+)\n+```json\n(.*?)```", PAGE, re.MULTILINE | re.DOTALL)
    assert len(examples) == 2
    for name, block in examples:
        schema = json.loads((ROOT / "src" / "ozx" / "schemas" / f"{name}.json").read_text(encoding="utf-8"))
        jsonschema.validate(json.loads(block), schema)


def test_the_package_ships_its_schemas_and_says_that_it_is_typed():
    package = importlib.resources.files("ozx")
    assert (package / "py.typed").is_file()
    assert json.loads((package / "schemas" / "pack.json").read_text(encoding="utf-8"))["title"] == "ozx pack --json"
