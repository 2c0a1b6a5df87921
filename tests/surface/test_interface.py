"""docs/interface.md says what the code does: signatures, options, schemas, rules, exit codes."""

import errno
import importlib.resources
import inspect as python_inspect
import json
import re
from pathlib import Path

import click
import jsonschema
import pytest
import xarray

import ozx
import ozx.desktop.association.associate
import ozx.integrations.napari
from ozx.cli.commands import COMMANDS, load_command
from ozx.integrations.fsspec import OzxFile, OzxFileSystem
from ozx.integrations.xarray import OzxBackend

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "interface.md").read_text(encoding="utf-8")


def test_every_public_name_is_there_and_on_the_page():
    for name in ozx.__all__:
        assert getattr(ozx, name) is not None
        assert f"`ozx.{name}" in PAGE or f"ozx.{name}(" in PAGE or f"`{name}`" in PAGE, name
    assert set(ozx.__all__) <= set(dir(ozx))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        ozx.nonsense  # noqa: B018


def shown_parameters(function):
    """Return a signature as the page writes it."""
    found = []
    is_keyword = False
    for parameter in python_inspect.signature(function).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not is_keyword:
            found.append("*")
            is_keyword = True
        default = "" if parameter.default is parameter.empty else f"={parameter.default!r}"
        if "_NoProgress" in default:
            default = "=NO_PROGRESS"
        stars = "**" if parameter.kind is parameter.VAR_KEYWORD else ""
        found.append(stars + parameter.name + default)
    return ", ".join(found).replace("'", '"')


@pytest.mark.parametrize("line", re.findall(r"^ozx\.(\w+\(.*\)) -> ", PAGE, re.MULTILINE))
def test_signatures_are_those_on_the_page(line):
    name, _, parameters = line.removesuffix(")").partition("(")
    assert shown_parameters(getattr(ozx, name)) == parameters


@pytest.mark.parametrize("line", re.findall(r"^ozx\.integrations\.napari\.(\w+\(.*\)) -> ", PAGE, re.MULTILINE))
def test_signatures_of_the_integration_with_napari_are_those_on_the_page(line):
    name, _, parameters = line.removesuffix(")").partition("(")
    assert shown_parameters(getattr(ozx.integrations.napari, name)) == parameters


DESKTOP = re.findall(r"^ozx\.desktop\.association\.associate\.(\w+\(.*\)) -> ", PAGE, re.MULTILINE)


@pytest.mark.parametrize("line", DESKTOP)
def test_signatures_of_the_desktop_are_those_on_the_page(line):
    name, _, parameters = line.removesuffix(")").partition("(")
    assert shown_parameters(getattr(ozx.desktop.association.associate, name)) == parameters


#: Options of xarray, in one line of the page.
DECODERS = set(python_inspect.signature(xarray.open_dataset).parameters) - {"drop_variables"}


@pytest.mark.parametrize("name", ["open_dataset", "open_datatree", "open_groups"])
def test_options_of_the_integration_with_xarray_are_those_on_the_page(name):
    method = OzxBackend.open_groups_as_dict if name == "open_groups" else getattr(OzxBackend, name)
    shown = shown_parameters(method).removeprefix("self, filename_or_obj, ").split(", ")
    options = ", ".join(option for option in shown if option.partition("=")[0] not in DECODERS)
    assert f'\nxarray.{name}(path, engine="ozx", {options}) -> ' in PAGE
    for option in options.removeprefix("*, ").split(", "):
        assert f"\n| `{option.partition('=')[0]}` | xarray" in PAGE


def test_the_file_system_takes_no_option_of_its_own():
    kinds = {parameter.kind.name for parameter in python_inspect.signature(OzxFileSystem).parameters.values()}
    assert kinds == {"VAR_POSITIONAL", "VAR_KEYWORD"}
    assert OzxFile.DEFAULT_BLOCK_SIZE == 65_536


@pytest.mark.parametrize("call", [ozx.open, lambda path: ozx.OzxStore(path).get_sync("zarr.json")])
def test_what_is_not_there_is_a_resource_error_where_zarr_would_take_it_for_a_missing_key(tmp_path, call):
    with pytest.raises(ozx.ResourceError, match="there is no such file"):
        call(tmp_path / "absent.ozx")


@pytest.mark.parametrize(
    "call",
    [
        *(ozx.inspect, ozx.list_entries, ozx.validate, ozx.is_ozx, ozx.pack, ozx.unpack),
        lambda path: ozx.edit(path, name="Cells"),
        lambda path: ozx.thumbnail(path, path.with_suffix(".png")),
        lambda path: ozx.thumbnail(path, cache=True),
        lambda path: list(ozx.read_value(path, "zarr.json")),
        lambda path: ozx.repack(path, path.with_suffix(".out.ozx")),
        lambda path: ozx.extract(path, path.with_suffix(".out.ozx")),
        lambda path: ozx.export(path, path.with_suffix(".ome.tif")),
        lambda path: ozx.recover(path, path.with_suffix(".out.ozx")),
        ozx.import_tiff,
    ],
)
def test_what_is_not_there_is_our_error_and_pythons_own_elsewhere(tmp_path, call):
    path = str(tmp_path / "absent.ozx")
    with pytest.raises(FileNotFoundError) as caught:
        call(tmp_path / "absent.ozx")
    assert isinstance(caught.value, ozx.ResourceError)
    assert caught.value.errno == errno.ENOENT
    assert str(caught.value).startswith(f"{path}: ")


def test_every_command_and_option_is_on_the_page():
    for name in COMMANDS:
        row = next(line for line in PAGE.splitlines() if line.startswith(f"| `ozx {name}` |"))
        options = {
            option
            for parameter in load_command(name).params
            if isinstance(parameter, click.Option)
            for option in parameter.opts
        }
        assert options == set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", row.partition("|")[2].partition("|")[2])), name


def test_the_first_line_of_each_help_is_the_one_in_the_list():
    for name, summary in COMMANDS.items():
        assert (load_command(name).help or "").strip().splitlines()[0] == summary


def test_every_schema_is_a_schema_and_belongs_to_a_command():
    schemas = sorted((ROOT / "src" / "ozx" / "schemas").glob("*.json"))
    without = {"cat", "serve", "view"}
    assert {path.stem for path in schemas} == set(COMMANDS) - without | {"many"}
    for path in schemas:
        jsonschema.Draft202012Validator.check_schema(json.loads(path.read_text(encoding="utf-8")))


def test_json_examples_on_the_page_match_the_schemas():
    for name, block in re.findall(r"^### (\w+)\n+```json\n(.*?)```", PAGE, re.MULTILINE | re.DOTALL):
        schema = json.loads((ROOT / "src" / "ozx" / "schemas" / f"{name}.json").read_text(encoding="utf-8"))
        jsonschema.validate(json.loads(block), schema)


def test_the_package_ships_its_schemas_and_says_that_it_is_typed():
    package = importlib.resources.files("ozx")
    assert (package / "py.typed").is_file()
    assert json.loads((package / "schemas" / "pack.json").read_text(encoding="utf-8"))["title"] == "ozx pack --json"
