"""One group's document after an edit: what was asked for, and nothing else."""

import copy
import json
from types import SimpleNamespace

import pytest
from hierarchies import FIXTURES, multiscales

from ozx.errors import FormatError, UnsupportedError, UsageError
from ozx.ome.conversion_05_06 import convert_group
from ozx.ome.edit.image import edit_image
from ozx.ome.edit.request import parse_edits
from ozx.ome.model import parse_ome
from ozx.zarr.array import parse_array
from ozx.zarr.json_changes import iter_changes

IMAGE = json.loads((FIXTURES / "image.ome.zarr" / "zarr.json").read_bytes())
LABEL = json.loads((FIXTURES / "image.ome.zarr" / "labels" / "cells" / "zarr.json").read_bytes())
ARRAY = parse_array(json.loads((FIXTURES / "image.ome.zarr" / "0" / "zarr.json").read_bytes()))


def edit(document=IMAGE, *, array=ARRAY, **arguments):
    before = copy.deepcopy(document)
    new, differences, _, notes = edit_image(document, parse_edits(**arguments), "", array=array)
    assert document == before, "the old document was touched"
    return SimpleNamespace(document=new, differences=differences, notes=tuple(notes))


def changes(edited, document=IMAGE):
    return {pointer: new for pointer, _, new in iter_changes(document, edited.document)}


def told(edited):
    return [(found.what, found.old, found.new, found.unit) for found in edited.differences]


def placements(document):
    (multiscale,) = parse_ome(document["attributes"], 3).multiscales
    return [(dataset.scale, dataset.translation) for dataset in multiscale.datasets]


def image(levels, common=None, axes="yx", **ome):
    """Make a document: `levels` are lists of transformations, each a scale or, as a tuple, a translation."""

    def step(numbers):
        kind = "translation" if isinstance(numbers, tuple) else "scale"
        return {"type": kind, kind: list(numbers)}

    (multiscale,) = multiscales(axes, *map(str, range(len(levels))), name="one")
    for dataset, level in zip(multiscale["datasets"], levels, strict=True):
        dataset["coordinateTransformations"] = [step(numbers) for numbers in level]
    if common is not None:
        multiscale["coordinateTransformations"] = [step(numbers) for numbers in common]
    attributes = {"ome": {"version": "0.5", "multiscales": [multiscale], **ome}}
    return {"zarr_format": 3, "node_type": "group", "attributes": attributes}


def array_of(*shape, data_type="uint16"):
    return parse_array({"shape": list(shape), "data_type": data_type})


def test_what_has_no_pixel_size_in_decimals_comes_out_as_asked():
    for old, new in [(0.1, 0.3), (0.325, 0.1083333), (1 / 3, 0.65), (7, 1e-7), (1e-7, 1e6)]:
        document = image([[[1, old]], [[1, 2 * old]], [[1, 4 * old]]])
        found = [scale[1] for scale, _ in placements(edit(document, pixel_size={"x": new}).document)]
        assert found[0] == new
        assert found == pytest.approx([new, 2 * new, 4 * new], rel=1e-15)


@pytest.mark.parametrize(
    ("levels", "common"),
    [
        ([[[1, 1]], [[2, 2], (0.5, 0.5)]], [[0.5, 0.5]]),
        ([[[1, 1]], [[2, 2], (0.5, 0.5)]], [[0.5, 0.5], (3, 4)]),
        ([[[1, 0.5]], [[1, 1], (0, 0.25)]], [(3, 4)]),
        # A translation before the scale counts pixels, and is multiplied with the scale.
        ([[(0.0, 0.5), [1, 0.5]]], None),
    ],
)
def test_the_places_of_all_pixels_are_multiplied_whatever_they_come_from(levels, common):
    document = image(levels, common)
    edited = edit(document, pixel_size={"x": 2 * placements(document)[0][0][1]})
    for (old_scale, old_move), (scale, move) in zip(placements(document), placements(edited.document), strict=True):
        assert (scale, move) == ((old_scale[0], 2 * old_scale[1]), (old_move[0], 2 * old_move[1]))
    old, new = (found["attributes"]["ome"]["multiscales"][0] for found in (document, edited.document))
    for before, after in zip(
        old.get("coordinateTransformations", []), new.get("coordinateTransformations", []), strict=True
    ):
        assert before.get("scale") == after.get("scale")


def test_an_origin_that_moves_is_told():
    document = image([[[1, 0.5], (0, 100)], [[1, 1], (0, 100.25)]])
    edited = edit(document, pixel_size={"x": 1}, unit="nanometer")
    assert told(edited) == [
        ("axis x", 0.5, 1.0, "nanometer"),
        ("origin x", 100.0, 200.0, "nanometer"),
        ("unit of x", None, "nanometer", None),
    ]


@pytest.mark.parametrize(
    ("steps", "error"),
    [
        ([], FormatError),
        ([{"type": "identity"}], FormatError),
        ([{"type": "scale", "scale": [1, 1]}, {"type": "scale", "scale": [1, 1]}], FormatError),
        ([{"type": "scale", "scale": [1, 0]}], UnsupportedError),
        ([{"type": "scale", "scale": [1, -0.5]}], UnsupportedError),
        ([{"type": "scale", "scale": [1]}], UnsupportedError),
        ([{"type": "scale", "scale": [1, float("nan")]}], UnsupportedError),
        ([{"type": "scale", "path": "scales/0"}], UnsupportedError),
        ([{"type": "affine", "affine": [[1, 0], [0, 1]]}], UnsupportedError),
    ],
)
def test_a_pixel_size_that_is_not_one_scale_is_refused(steps, error):
    document = image([[[1, 1]]])
    document["attributes"]["ome"]["multiscales"][0]["datasets"][0]["coordinateTransformations"] = steps
    with pytest.raises(error, match="the root"):
        edit(document, pixel_size={"x": 2})
    assert edit(document, name="two").document != document


@pytest.mark.parametrize("size", [1e100, 1e-100])
def test_a_size_beyond_all_numbers_is_refused(size):
    document = image([[[1, 1]], [[1, 1e-300]], [[1, 1e300]]])
    with pytest.raises(UsageError, match="the pixel size is too far from the current one"):
        edit(document, pixel_size={"x": size})


def version_04():
    return {"zarr_format": 2, "attributes": {"multiscales": [{"version": "0.4"}]}}


def mixed():
    document = image([[[1, 1]]])
    multiscale = document["attributes"]["ome"]["multiscales"][0]
    multiscale["coordinateSystems"] = [{"name": "physical", "axes": multiscale.pop("axes")}]
    return document


@pytest.mark.parametrize(
    ("document", "found"),
    [
        (version_04(), "no ome metadata"),
        (mixed(), "version 0.5 with axes in the form of another version"),
        (image([[[1, 1]]], version="0.6"), "version 0.6 with axes in the form of another version"),
        (image([[[1, 1]]], version="0.9.dev1"), "version 0.9.dev1"),
        (image([[[1, 1]]], version="0.4"), "version 0.4"),
        (image([[[1, 1]]], version=None), "version None"),
        ({"zarr_format": 3, "node_type": "group"}, "no ome metadata"),
    ],
)
def test_other_versions_are_refused(document, found):
    with pytest.raises(UnsupportedError, match=f"expected OME-Zarr 0.5 or 0.6 to edit; found {found}"):
        edit(document, name="N")


def newer(document):
    return convert_group(document, "0.6", "here").document


@pytest.mark.parametrize("steps", [[[1, 1]], [[0.5, 2], (3, 4)]])
def test_06_is_edited_as_05(steps):
    document = image([steps, [[2 * number for number in steps[0]], *steps[1:]]])
    changes = {"pixel_size": {"y": 0.65}, "unit": "nanometer", "name": "N"}
    assert edit(newer(document), **changes).document == newer(edit(document, **changes).document)
    assert edit(newer(document), **changes).differences == edit(document, **changes).differences


def test_other_transformations_of_06_are_kept_with_a_note():
    document = newer(image([[[1, 1]]]))
    multiscale = document["attributes"]["ome"]["multiscales"][0]
    multiscale["coordinateSystems"].append({**multiscale["coordinateSystems"][0], "name": "stage"})
    step = {"type": "mapAxis", "mapAxis": [1, 0], "input": {"name": "physical"}, "output": {"name": "stage"}}
    multiscale["coordinateTransformations"] = [step]
    edited = edit(document, pixel_size={"x": 2})
    assert edited.notes == ("transformations to other coordinate systems are unchanged",)
    assert edited.document["attributes"]["ome"]["multiscales"][0]["coordinateTransformations"] == [step]
    assert not edit(document, name="N").notes


def test_a_group_that_is_no_image_is_refused():
    document = image([[[1, 1]]])
    del document["attributes"]["ome"]["multiscales"]
    with pytest.raises(FormatError, match="no multiscales"):
        edit(document, name="N")


@pytest.mark.parametrize(
    ("shape", "axes", "data_type", "window", "depth"),
    [
        ((3, 8, 8), "cyx", "uint8", (0, 255), 0),
        ((3, 9, 8, 8), "czyx", "int16", (-32768, 32767), 4),
        ((5, 3, 8, 8), "tcyx", "float32", (0.0, 1.0), 0),
    ],
)
def test_without_omero_a_complete_block_is_made(shape, axes, data_type, window, depth):
    document = image([[[1.0] * len(axes)]], axes=axes)
    edited = edit(document, array=array_of(*shape, data_type=data_type), channel_names=["A", None, "C"])
    omero = edited.document["attributes"]["ome"]["omero"]
    low, high = window
    for channel, name, color in zip(
        omero["channels"], ["A", "Channel 1", "C"], ["00FFFF", "FF00FF", "FFFF00"], strict=True
    ):
        contrast = {"min": low, "max": high, "start": low, "end": high}
        assert channel == {"active": True, "color": color, "label": name, "window": contrast}
    assert omero["rdefs"] == {"defaultT": 0, "defaultZ": depth, "model": "color"}
    assert told(edited) == [("channel 0 name", None, "A", None), ("channel 2 name", None, "C", None)]
    (note,) = edited.notes
    assert "3 of 3 channels had no description" in note
    assert data_type in note


def test_a_colour_ends_the_grey_model():
    """Viewers ignore the colours of channels in an image whose rendering model is `greyscale`."""
    gray = {"channels": [{"label": "A", "color": "FFFFFF"}], "rdefs": {"defaultZ": 3, "model": "greyscale"}}
    document = image([[[1, 1]]], omero=gray)
    edited = edit(document, array=array_of(8, 8), colors=["blue"])
    assert edited.document["attributes"]["ome"]["omero"]["rdefs"] == {"defaultZ": 3, "model": "color"}
    model = ("rendering model", "greyscale", "color", None)
    assert told(edited) == [("channel 0 color", "FFFFFF", "0000FF", None), model]
    blue = {**gray, "channels": [{"label": "A", "color": "0000FF"}]}  # as ozx and others have left it
    again = edit(image([[[1, 1]]], omero=blue), array=array_of(8, 8), colors=["blue"])
    assert told(again) == [model]
    for colors in (["white"], None):
        same = edit(document, array=array_of(8, 8), colors=colors, channel_names=["B"])
        assert same.document["attributes"]["ome"]["omero"]["rdefs"] == gray["rdefs"]


def test_what_is_missing_in_omero_is_made_and_the_rest_stays():
    omero = {"id": 7, "channels": [{"label": "A", "coefficient": 1}]}
    document = image([[[1, 1, 1]]], axes="cyx", omero=omero)
    edited = edit(document, array=array_of(2, 8, 8), channel_names=[None, "B"])
    new = edited.document["attributes"]["ome"]["omero"]
    assert (new["id"], new["channels"][0], new["channels"][1]["label"]) == (7, omero["channels"][0], "B")
    assert "rdefs" not in new
    assert "1 of 2 channels" in edited.notes[0]
    same = edit(document, array=array_of(2, 8, 8), channel_names=["A", None])
    assert (same.document, same.notes) == (document, ())


def test_without_the_array_omero_has_to_say_how_many_channels_there_are():
    assert edit(array=None, channel_names=["A", "B"]).differences
    with pytest.raises(FormatError, match="to count the channels"):
        edit(image([[[1, 1, 1]]], axes="cyx"), array=None, channel_names=["A"])


def test_a_label_image_has_no_channels():
    with pytest.raises(UsageError, match="no channels"):
        edit(LABEL, channel_names=["A"])


def test_a_copy_of_the_name_in_omero_follows():
    document = image([[[1, 1]]], omero={"name": "one", "channels": []})
    assert changes(edit(document, name="two"), document) == {
        "/attributes/ome/multiscales/0/name": "two",
        "/attributes/ome/omero/name": "two",
    }
    document["attributes"]["ome"]["omero"]["name"] = "other"
    assert list(changes(edit(document, name="two"), document)) == ["/attributes/ome/multiscales/0/name"]


def test_several_multiscales_all_get_the_pixel_size():
    document = image([[[1, 1]]])
    multiscales = document["attributes"]["ome"]["multiscales"]
    multiscales.append(copy.deepcopy(multiscales[0]))
    multiscales[1]["datasets"][0]["coordinateTransformations"][0]["scale"] = [1, 4]
    edited = edit(document, pixel_size={"x": 2}, name="two")
    new = edited.document["attributes"]["ome"]["multiscales"]
    assert [item["datasets"][0]["coordinateTransformations"][0]["scale"][1] for item in new] == [2.0, 2.0]
    assert [item["name"] for item in new] == ["two", "one"]
