"""Handlers of extensions: found by entry point or decorator, asked by validate, open and repack."""

import json

import numpy as np
import pytest
import zarr
from handlers import example_package, handlers  # noqa: F401 (fixtures)

import ozx
from ozx import extensions
from ozx.errors import UnsupportedError, UsageError
from ozx.extensions import Fault, find_handler, has_method, register
from ozx.store.extension_groups import OpenedGroup
from ozx.store.opening import open_group

PIXELS = np.arange(48 * 48, dtype="uint16").reshape(48, 48)
OFFSET = {"name": "example.offset", "configuration": {"offset": [12, 24]}}
STATISTICS = {
    "name": "example.array-statistics",
    "must_understand": False,
    "configuration": {"min": 0, "max": 48 * 48 - 1},
}


def edit(folder, key, **fields):
    path = folder / key
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


@pytest.fixture
def hierarchy(tmp_path):
    """An image of one level with both extensions."""
    folder = tmp_path / "cells.ome.zarr"
    axes = [{"name": name, "type": "space"} for name in "yx"]
    datasets = [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [1, 1]}]}]
    ome = {"version": "0.5", "multiscales": [{"name": "cells", "axes": axes, "datasets": datasets}]}
    group = zarr.create_group(folder, attributes={"ome": ome})
    array = group.create_array("0", shape=(48, 48), chunks=(16, 16), dtype="uint16", dimension_names=["y", "x"])
    array[:] = PIXELS
    edit(folder, "0/zarr.json", extensions=[OFFSET, STATISTICS])
    return folder


@pytest.fixture
def archive(hierarchy, tmp_path):
    ozx.pack(hierarchy, tmp_path / "cells.ozx")  # packing is always safe
    return tmp_path / "cells.ozx"


def ids(path):
    return {
        finding.id: finding.severity for finding in ozx.validate(path).findings if finding.id.startswith("zarr/ext")
    }


def handler(**methods):
    """Make a handler of functions, which do not get the handler itself."""
    return type("Handler", (), {name: staticmethod(method) for name, method in methods.items()})()


def document_of(path, key="0/zarr.json"):
    return json.loads(b"".join(ozx.read_value(path, key)))


def test_without_a_handler_open_raises(archive):
    with pytest.raises(UnsupportedError, match=r"^.*0: .*extension 'example\.offset'"):
        open_group(archive)["0"]


def test_without_a_handler_repack_refuses_to_move_chunks(archive, tmp_path):
    with pytest.raises(UnsupportedError, match=r"^.*0: .*extension 'example\.offset'"):
        ozx.repack(archive, tmp_path / "new.ozx", shards="y=32,x=32")
    ozx.repack(archive, tmp_path / "new.ozx")  # as they are
    assert document_of(tmp_path / "new.ozx") == document_of(archive)


@pytest.mark.usefixtures("example_package")
def test_a_handler_of_an_entry_point_is_found():
    assert type(find_handler("extensions", "example.offset")).__name__ == "Offset"
    assert has_method("extensions", "example.array-statistics", "relayout")
    assert not has_method("extensions", "example.array-statistics", "open")
    assert find_handler("codecs", "example.offset") is None


@pytest.mark.usefixtures("example_package")
def test_with_a_handler_open_gives_what_it_makes(archive):
    group = open_group(archive)
    assert isinstance(group, OpenedGroup)
    for array in (group["0"], group.get("0"), dict(group.arrays())["0"], dict(group.members())["0"]):
        assert array.shape == (36, 24)
        np.testing.assert_array_equal(array[:], PIXELS[12:, 24:])
        assert array[0, 0] == PIXELS[12, 24]


@pytest.mark.usefixtures("example_package")
def test_with_a_handler_no_method_of_a_group_gives_the_stored_array(archive):
    group, shape = open_group(archive), document_of(archive)["shape"]
    arrays = [
        group.require_array("0", shape=shape, dtype=PIXELS.dtype),
        group.require_dataset("0", shape=shape, dtype=PIXELS.dtype),
        *group.array_values(),
    ]
    parents = (group.require_group(""), *group.require_groups(""))
    arrays.extend(parent["0"] for parent in parents)
    for array in arrays:
        np.testing.assert_array_equal(array[:], PIXELS[12:, 24:])


@pytest.mark.usefixtures("example_package")
@pytest.mark.parametrize("options", [{"shards": "y=32,x=32"}, {"chunks": "y=8,x=8"}, {"codec": "zstd:3"}])
def test_with_a_handler_repack_moves_chunks(archive, tmp_path, options):
    ozx.repack(archive, tmp_path / "new.ozx", **options)
    old, new = document_of(archive), document_of(tmp_path / "new.ozx")
    assert new["extensions"] == old["extensions"]
    assert (new["chunk_grid"], new["codecs"]) != (old["chunk_grid"], old["codecs"])
    np.testing.assert_array_equal(open_group(tmp_path / "new.ozx")["0"][:], PIXELS[12:, 24:])


@pytest.mark.usefixtures("example_package")
def test_with_a_handler_validate_asks_it(hierarchy):
    assert ids(hierarchy) == {}
    wrong = [{"name": "example.offset", "configuration": {"offset": [1]}}]
    edit(hierarchy, "0/zarr.json", extensions=wrong)
    (finding,) = [found for found in ozx.validate(hierarchy).findings if found.id == "zarr/extension-configuration"]
    assert finding.where.pointer == "/extensions/0/configuration/offset"
    assert "expected an offset of 2 lengths" in finding.message
    edit(hierarchy, "0/zarr.json", extensions=[{"name": "example.offset", "configuration": {"offset": [99, 0]}}])
    assert ids(hierarchy) == {"zarr/extension-configuration": "warning"}


def test_a_handler_without_relayout_keeps_chunks_in_place(archive, tmp_path, handlers):  # noqa: F811
    handlers("extensions", "example.offset")(handler(open=lambda node, array: array))
    with pytest.raises(UnsupportedError, match=r"example\.offset"):
        ozx.repack(archive, tmp_path / "new.ozx", shards="y=32,x=32")
    np.testing.assert_array_equal(open_group(archive)["0"][:], PIXELS)


def test_a_handler_may_change_a_configuration_or_refuse(archive, tmp_path, handlers):  # noqa: F811
    def relayout(configuration, old, new):
        if new.document["codecs"][0]["name"] != "sharding_indexed":
            raise UnsupportedError("expected shards")
        assert old.document["chunk_grid"] != new.document["chunk_grid"]
        return configuration | {"moved": configuration.get("moved", 0) + 1}

    for name in ("example.offset", "example.array-statistics"):
        handlers("extensions", name)(handler(relayout=relayout))
    ozx.repack(archive, tmp_path / "new.ozx", shards="y=32,x=32")
    found = document_of(tmp_path / "new.ozx")["extensions"]
    assert [extension["configuration"]["moved"] for extension in found] == [1, 1]
    with pytest.raises(UnsupportedError, match="expected shards"):
        ozx.repack(archive, tmp_path / "other.ozx", chunks="y=8,x=8")


def test_an_extension_given_by_its_name_gets_a_configuration(hierarchy, tmp_path, handlers):  # noqa: F811
    handlers("extensions", "example.skip_empty_chunks")(handler(relayout=lambda *_: {"moved": True}))
    edit(hierarchy, "0/zarr.json", extensions=["example.skip_empty_chunks"])
    ozx.repack(hierarchy, tmp_path / "new.ozx", shards="y=32,x=32")
    expected = [{"name": "example.skip_empty_chunks", "configuration": {"moved": True}}]
    assert document_of(tmp_path / "new.ozx")["extensions"] == expected


@pytest.mark.parametrize("is_same", [True, False])
def test_extensions_of_a_group_are_asked_about_arrays_below(hierarchy, tmp_path, handlers, is_same):  # noqa: F811
    asked = []

    def relayout(configuration, old, new):
        asked.append(old.path)
        return configuration if is_same else {}

    handlers("extensions", "example.tiered-storage")(handler(relayout=relayout))
    edit(hierarchy, "zarr.json", extensions=[{"name": "example.tiered-storage", "configuration": {"slow-arrays": []}}])
    edit(hierarchy, "0/zarr.json", extensions=[])
    if is_same:
        ozx.repack(hierarchy, tmp_path / "new.ozx", shards="y=32,x=32")
    else:
        with pytest.raises(
            UnsupportedError,
            match=r"the root: the handler of the extension 'example\.tiered-storage' returned another configuration",
        ):
            ozx.repack(hierarchy, tmp_path / "new.ozx", shards="y=32,x=32")
    assert asked == ["0"]


def test_a_handler_that_fails_is_a_finding(hierarchy, handlers):  # noqa: F811
    def check(configuration, node):
        yield Fault("never seen", severity="note")
        raise KeyError(configuration["nothing"])

    handlers("extensions", "example.offset")(handler(check=check))
    (finding,) = [found for found in ozx.validate(hierarchy).findings if found.id == "zarr/extension-configuration"]
    assert "its handler raised KeyError('nothing')" in finding.message


def test_handlers_see_every_node_even_if_documents_are_equal(hierarchy, handlers):  # noqa: F811
    seen = []
    handlers("extensions", "example.offset")(handler(check=lambda _, node: seen.append(node.path) or []))
    for name in ("1", "2"):
        (hierarchy / name).mkdir()
        (hierarchy / name / "zarr.json").write_bytes((hierarchy / "0" / "zarr.json").read_bytes())
    ozx.validate(hierarchy)
    assert seen == ["0", "1", "2"]


def test_groups_below_are_handled_too(hierarchy, handlers):  # noqa: F811
    handlers("extensions", "example.offset")(handler(open=lambda node, array: node.path))
    inner = hierarchy / "inner"
    zarr.create_group(inner)
    (inner / "0").mkdir()
    (inner / "0" / "zarr.json").write_bytes((hierarchy / "0" / "zarr.json").read_bytes())
    ozx.pack(hierarchy, hierarchy.parent / "all.ozx")
    group = open_group(hierarchy.parent / "all.ozx")
    assert group["inner"]["0"] == dict(group.groups())["inner"]["0"] == group["inner/0"] == "inner/0"


def test_there_is_no_such_point():
    with pytest.raises(UsageError, match="expected one of the extension points data_type, "):
        register("attributes", "example.offset")


def test_a_package_that_cannot_be_loaded_is_named(tmp_path, monkeypatch):
    folder = tmp_path / "broken-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text("[ozx.extensions]\nextensions:example.broken = nowhere:Handler\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    extensions._entry_points.cache_clear()
    try:
        with pytest.raises(UsageError, match=r"handler nowhere:Handler of the extension extensions:example\.broken"):
            find_handler("extensions", "example.broken")
    finally:
        extensions._entry_points.cache_clear()
