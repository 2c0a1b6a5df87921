"""Metadata of the usual form: ome-zarr-models has nothing to say about them, and is not loaded."""

import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ozx import pack
from ozx.validation.ome import second_opinion
from ozx.validation.ome.second_opinion import is_plain
from tests.validation.ome.test_second_opinion import CASES, nodes_of

TYPES = {"t": "time", "c": "channel", "z": "space", "y": "space", "x": "space"}
FIXTURE = Path(__file__).parents[3] / "fixtures" / "image.ome.zarr"
numbers = st.integers(-3, 9) | st.floats(allow_nan=True, allow_infinity=True) | st.booleans() | st.just("1")


def opinion(ome: dict[str, object]) -> list[object]:
    """Return what ome-zarr-models refuses of any part."""
    with patch.object(second_opinion, "is_plain", lambda *_: False):
        return second_opinion.refusals(ome, is_v3=True)


@st.composite
def images(draw: st.DrawFn) -> dict[str, object]:
    """Nearly plain metadata: often plain, often with one fault."""
    names = draw(st.sampled_from(["yx", "zyx", "cyx", "tczyx", "tcyx", "xy", "y", "ctyx", "zyy", "tczyxx", "yxc"]))
    axes = [
        {"name": name, "type": TYPES[name]} | draw(st.sampled_from([{}, {}, {"unit": "micrometer"}, {"unit": 3}]))
        for name in names
    ]
    axes[0] |= draw(st.sampled_from([{}, {}, {}, {"type": "space"}, {"other": 1}, {"name": 1}]))

    def steps(scale: float) -> list[dict[str, object]]:
        values = [scale] * len(names)
        values[-1:] = draw(st.sampled_from([[scale], [scale], [scale, 1], [], [0.5], [0], [True], ["1"]]))
        found: list[dict[str, object]] = [{"type": "scale", "scale": values}]
        if draw(st.booleans()):
            found.append({"type": "translation", "translation": draw(st.lists(numbers, max_size=6))})
        if draw(st.booleans()):
            found.append({"type": "translation", "translation": [0.5] * len(names)})
        return found

    factors = draw(st.sampled_from([[1], [1, 2, 4], [1, 1], [2, 1], []]))
    datasets = [{"path": str(place), "coordinateTransformations": steps(f)} for place, f in enumerate(factors)]
    image = {"axes": axes, "datasets": datasets} | draw(st.sampled_from([{}, {}, {"name": "a"}, {"version": "0.5"}]))
    return {"version": draw(st.sampled_from(["0.5", "0.5", "0.4"])), "multiscales": [image]}


@given(images(), st.data())
def test_labels_that_count_as_plain_are_accepted(ome: dict[str, object], data: st.DataObject) -> None:
    value = st.sampled_from([0, 1, 2, -1, True, 1.0, "1", None])
    color = st.fixed_dictionaries(
        {"label-value": value, "rgba": st.sampled_from([[0, 1, 2, 255], [0, 1, 2, 256], [0, 1, 2], [0, 1, 2, 1.5]])}
    )
    label = data.draw(
        st.fixed_dictionaries(
            {},
            optional={
                "version": st.sampled_from(["0.5", "0.4"]),
                "colors": st.lists(color, max_size=3),
                "properties": st.lists(
                    st.fixed_dictionaries({"label-value": value}, optional={"a": value}), max_size=3
                ),
                "source": st.sampled_from([{}, {"image": "../.."}, {"image": 3}, {"path": "a"}, "a"]),
            },
        )
    )
    ome["image-label"] = label
    if is_plain(ome, "image-label"):
        assert opinion(ome) == []


@given(images())
def test_what_counts_as_plain_is_accepted(ome: dict[str, object]) -> None:
    if is_plain(ome, "multiscales"):
        assert opinion(ome) == []


def test_no_case_that_it_refuses_is_plain() -> None:
    for rule, node in ((rule, node) for rule, case in CASES for node in nodes_of(case)):
        ome = node.ome
        if node.is_v3 and ome is not None and ome.get("version") == "0.5" and opinion(ome):
            keys = [key for key in ("multiscales", "labels", "image-label") if key in ome]
            assert not keys or not all(is_plain(ome, key) for key in keys) or set(ome) - {"version", *keys}, rule


@pytest.mark.parametrize(("labels", "expected"), [(["a"], True), ([], False), ([1], False), ("a", False)])
def test_plain_labels(labels: object, *, expected: bool) -> None:
    assert is_plain({"version": "0.5", "labels": labels}, "labels") is expected
    assert not is_plain({"version": "0.4", "labels": labels}, "labels")


def test_a_plain_image_is_validated_without_pydantic(tmp_path: Path) -> None:
    pack(FIXTURE, tmp_path / "a.ozx")
    code = (
        "import sys, ozx; report = ozx.validate(sys.argv[1]); assert report.valid, report;"
        "print([name for name in ('pydantic', 'ome_zarr_models', 'zarr') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "a.ozx"], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "[]\n"
