"""The room kept at the head suffices for what the root announces."""

import json

import pytest
from cases.archive_builder import array, group
from hierarchies import FIXTURES, tree
from hypothesis import given
from hypothesis import strategies as st

from ozx.archive.names.decoding import encode_name
from ozx.archive.writer import local_header
from ozx.hierarchy.keys import is_metadata_key
from ozx.store.growing_file import document_room, metadata_reserve


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20), st.binary(max_size=50))
def test_a_document_takes_its_header_and_its_value(key, document):
    raw_name, flags = encode_name(key)
    assert document_room(key, document) == len(local_header(raw_name, flags, 0, len(document))) + len(document)


@pytest.mark.parametrize("name", ["plate", "image", "sharded", "series"])
def test_knowing_the_root_is_enough_for_all_the_metadata(name):
    documents = {key: data for key, data in tree(FIXTURES / f"{name}.ome.zarr").items() if is_metadata_key(key)}
    needed = sum(document_room(key, data) for key, data in documents.items())
    assert needed <= metadata_reserve({"zarr.json": documents["zarr.json"]})
    assert 2 * needed <= metadata_reserve(documents)


def plate(wells, fields):
    names = [{"path": f"A/{n}", "rowIndex": 0, "columnIndex": n} for n in range(wells)]
    ome = {"version": "0.5", "plate": {"wells": names, "rows": [], "columns": [], "field_count": fields}}
    return group(attributes={"ome": ome})


def test_a_plate_announces_its_wells_and_fields():
    some, many = metadata_reserve({"zarr.json": plate(96, 1)}), metadata_reserve({"zarr.json": plate(96, 9)})
    document = document_room("A/95/0/0/zarr.json", array([64, 64], [8, 8]))
    assert some > 96 * 3 * document
    assert many > 96 * 9 * 3 * document


def test_an_absurd_plate_does_not_get_absurd_room():
    assert metadata_reserve({"zarr.json": plate(2, 10**12)}) <= 64 << 20


def test_room_for_what_is_known_already_is_not_cut():
    document = b" " * (100 << 20)
    assert metadata_reserve({"zarr.json": document}) >= 2 * len(document)


@pytest.mark.parametrize(
    "root", [b"", b"{", b"[]", b"\xff", b"{}", json.dumps({"attributes": {"ome": 3}}).encode(), group(None), group(7)]
)
def test_a_root_that_says_nothing_gets_room_all_the_same(root):
    assert metadata_reserve({"zarr.json": root}) >= 48 << 10
