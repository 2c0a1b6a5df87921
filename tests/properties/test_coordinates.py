"""Metadata of OME-Zarr 0.6 with values exchanged at random: findings and refusals, never another error."""

from __future__ import annotations

import copy
import json
from random import Random

from cases.documents import FILES, documents_of
from hypothesis import given, settings
from hypothesis import strategies as st

from ozx.errors import OzxError
from ozx.hierarchy.ome.conversion import VERSIONS, convert_group
from ozx.hierarchy.ome.model import parse_ome
from ozx.hierarchy.ome.placing import place_image, place_scene
from ozx.validation.conformance import check_attributes
from ozx.validation.hierarchy import check_documents

VALUES = (
    *(None, True, 0, -1, 2.5, 1e400, 10**30, "", "x", "physical", "..", "/", "labels/nuclei", [], {}, [1], [None]),
    *([[1, 2], [3, 4]], {"name": "physical"}, {"path": "0"}, {"type": "scale"}, {"type": "byDimension"}),
)
KEYS = ("coordinateSystems", "coordinateTransformations", "path", "name", "type", "input", "transformations", "forward")
SEEDS = [
    documents
    for file in FILES.values()
    for case in file["fails"] + file["passes"]
    if b'"version": "0.6' in b"".join((documents := documents_of(case)).values())
]


def holders(value):
    """Yield every object and array that is not empty."""
    if isinstance(value, dict | list):
        if value:
            yield value
        for inner in value.values() if isinstance(value, dict) else value:
            yield from holders(inner)


def change(document, random):
    holder = random.choice(list(holders(document)))
    key = random.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
    new = copy.deepcopy(random.choice(VALUES))
    match random.randrange(4):
        case 0:
            del holder[key]
        case 1 if isinstance(holder, dict):
            holder[random.choice(KEYS)] = copy.deepcopy(holder[key])
        case _:
            holder[key] = new


@given(st.integers(0, 2**32))
@settings(max_examples=400)
def test_any_change_gives_findings_and_refusals_only(seed):
    random = Random(seed)
    documents = dict(random.choice(SEEDS))
    key = random.choice(list(documents))
    document = json.loads(documents[key])
    for _ in range(random.randint(1, 3)):
        if document:
            change(document, random)
    documents[key] = json.dumps(document).encode()
    list(check_documents(documents))
    attributes = document.get("attributes")
    if not isinstance(attributes, dict):
        return
    list(check_attributes(json.dumps(attributes).encode()))
    ome = parse_ome(attributes, 3)
    for multiscale in () if ome is None else ome.multiscales:
        place_image(multiscale)
    if ome is not None and ome.scene is not None:
        place_scene(ome.scene, dict(zip("abc", ome.multiscales, strict=False)))
    for version in VERSIONS:
        try:
            convert_group(document, version, "here", drop=random.random() < 0.5)
        except OzxError as error:
            assert str(error).startswith("here")  # noqa: PT017 (it may succeed)


def test_there_are_enough_documents_to_begin_with():
    assert len(SEEDS) > 80
