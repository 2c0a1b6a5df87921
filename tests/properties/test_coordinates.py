"""Metadata of OME-Zarr 0.6 with values exchanged at random: findings and refusals, never another error."""

import json

from changed_documents import as_stored, changed, documents_of_cases
from hypothesis import given, settings
from hypothesis import strategies as st

from ozx.errors import OzxError
from ozx.ome.conversion_05_06 import VERSIONS, convert_group
from ozx.ome.model import parse_ome
from ozx.ome.placing import place_image, place_scene
from ozx.validation.conformance import check_attributes
from ozx.validation.hierarchy import check_documents

SEEDS = [documents for documents in documents_of_cases() if '"version": "0.6' in json.dumps(documents)]


@given(changed(st.sampled_from(SEEDS), most=3), st.data())
@settings(max_examples=400)
def test_any_change_gives_findings_and_refusals_only(documents, data):
    list(check_documents(as_stored(documents)))
    for document in documents.values():
        if isinstance(document, dict) and isinstance(document.get("attributes"), dict):
            check_group(document, drop=data.draw(st.booleans()))


def check_group(document, *, drop):
    attributes = document["attributes"]
    list(check_attributes(json.dumps(attributes).encode("utf-8", "surrogatepass")))
    ome = parse_ome(attributes, 3)
    for multiscale in () if ome is None else ome.multiscales:
        place_image(multiscale)
    if ome is not None and ome.scene is not None:
        place_scene(ome.scene, dict(zip("abc", ome.multiscales, strict=False)))
    for version in VERSIONS:
        try:
            convert_group(document, version, "here", drop=drop)
        except OzxError as error:
            assert str(error).startswith("here")  # noqa: PT017 (it may succeed)


def test_there_are_enough_documents_to_begin_with():
    assert len(SEEDS) > 80
