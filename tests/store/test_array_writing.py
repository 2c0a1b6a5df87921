"""`ozx.Array`: what is assigned is written as zarr-python writes it, without its machinery where that is possible."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr
from zarr.storage import MemoryStore

import ozx
from ozx.store.extension_groups import OpenedGroup

SHAPE = (5, 40, 52)
LAYOUTS = {
    "chunks": {"chunks": (2, 16, 20)},
    "shards": {"chunks": (1, 8, 8), "shards": (2, 24, 16)},
    "empty chunks": {"chunks": (1, 8, 8), "shards": (2, 24, 16), "config": {"write_empty_chunks": True}},
    "transposed": {"chunks": (2, 16, 20), "filters": [zarr.codecs.TransposeCodec(order=(2, 0, 1))]},
}
SELECTIONS = {
    "all": np.s_[...],
    "plane": np.s_[2],
    "last plane": np.s_[-1],
    "chunk": np.s_[:2, 16:32, 20:40],
    "window": np.s_[1, 5:30, 17:50],
    "row": np.s_[:, 39],
    "pixel": np.s_[4, 39, 51],
    "numpy numbers": (np.int64(1), np.uint8(3)),
    "end": np.s_[..., 48:],
    "steps": np.s_[::2, 3:40:5, 1::7],
    "nothing": np.s_[3:1],
}
VALUES = {
    "number": 7,
    "float": 7.9,
    "numpy number": np.int8(5),
    "truth": True,
    "too large": 70_000,
    "text": "x",
    "list": [1] * 52,
    "row": np.arange(52, dtype="u2"),
    "column": np.arange(40, dtype="u2")[:, None],
    "floats": np.linspace(0, 9, 40 * 52).reshape(40, 52),
    "other byte order": np.arange(40 * 52, dtype=">u2").reshape(40, 52),
    "transposed": np.arange(40 * 52, dtype="u2").reshape(52, 40).T,
    "extra axis": np.ones((1, 40, 52), "u2"),
    "too short": np.ones((39, 52), "u2"),
    "0-d": np.array(3, "u2"),
    "none": None,
}


@pytest.fixture
def group(tmp_path: Path) -> Any:
    with ozx.open(tmp_path / "a.ozx", "w", sync=False) as group:
        group.attrs["ome"] = {"version": "0.5"}
        yield group


def made(group: zarr.Group, layout: str, name: str = "0") -> Any:
    return group.create_array(name, shape=SHAPE, dtype="u2", fill_value=3, **LAYOUTS[layout])


def outcome(array: Any, selection: Any, value: Any) -> Any:
    """Return the class of the error of an assignment."""
    try:
        array[selection] = value
    except Exception as error:  # noqa: BLE001 (any that zarr-python raises)
        return type(error)
    return None


@pytest.fixture
def no_zarr(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("written by zarr-python")

    monkeypatch.setattr(zarr.Array, "__setitem__", refuse)
    monkeypatch.setattr(zarr.Array, "set_basic_selection", refuse)


@pytest.mark.usefixtures("no_zarr")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_basic_selections_are_written_without_zarr(group: OpenedGroup, layout: str) -> None:
    array, expected = made(group, layout), np.full(SHAPE, 3, "u2")
    for number, selection in enumerate(SELECTIONS.values()):
        value = np.arange(expected[selection].size, dtype="u2").reshape(expected[selection].shape) + number
        for target in (array, expected):
            target[selection] = value
        np.testing.assert_array_equal(array[...], expected)
        array.set_basic_selection(selection, number + 9)
        expected[selection] = number + 9
        np.testing.assert_array_equal(array[...], expected)


@pytest.mark.parametrize("layout", ["chunks", "shards"])
@pytest.mark.parametrize(("name", "value"), VALUES.items(), ids=VALUES)
def test_a_value_of_any_kind_is_written_as_zarr_writes_it(
    group: OpenedGroup, layout: str, name: str, value: Any
) -> None:
    del name
    ours, theirs = made(group, layout), made(zarr.create_group(MemoryStore()), layout)
    for selection in (np.s_[1], np.s_[2, 7], np.s_[4, 39, 51], np.s_[3:4]):
        error = outcome(ours, selection, value)
        assert error == outcome(theirs, selection, value)
        if error is None:  # zarr-python writes some chunks before it fails
            np.testing.assert_array_equal(ours[...], theirs[...])
