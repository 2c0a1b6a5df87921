"""Closing: each way from the room at the head and the free places to a finished file."""

import json
import os
import warnings
import zipfile

import pytest
from cases.archive_builder import group
from packed import sort_values, write_archive
from stores import SEED, assert_finished, buffer, contents, put, run

import ozx
from ozx import FormatError, OzxStore
from ozx.archive.byte_source import FileSource
from ozx.archive.reader import ArchiveReader
from ozx.errors import NotOmeZarrWarning, RewrittenWarning, UsageError
from ozx.hierarchy.comment import parse_comment
from ozx.store import finishing
from ozx.store.growing_file import document_room

DATA = {f"0/c/0/{n}": bytes([n + 1]) * 80_000 for n in range(5)}
HEAD = sum(document_room(key, document) for key, document in SEED.items())
WHITE = 64 << 10


def is_rewritten(path, values, *, also=lambda store: None):
    """Write `values`; tell whether the file under the final name is another one than what was written to."""
    store = OzxStore(path, mode="w", sync=False)
    for key, value in values.items():
        put(store, key, value)
    also(store)
    written = os.fstat(store._write._growing.partial.descriptor).st_ino
    store.close()
    return os.stat(path).st_ino != written


@pytest.fixture
def out(tmp_path):
    yield tmp_path / "a.ozx"
    assert [name for name in os.listdir(tmp_path) if not name.endswith(".ozx")] == []


@pytest.fixture
def room(monkeypatch):
    """Set how many bytes more than the metadata needs are kept at the head; all of the file may be unused."""

    def set_spare(spare):
        monkeypatch.setattr("ozx.store.growing_file.metadata_reserve", lambda documents: HEAD + spare)
        monkeypatch.setattr(finishing, "MOST_UNUSED", 1.0)

    return set_spare


@pytest.mark.parametrize(
    ("spare", "rewritten"),
    [
        (0, False),
        (1, False),
        (4_000, False),
        (WHITE, False),
        (WHITE + 1, False),
        (2 * WHITE, False),
        (2 * WHITE + 1, True),  # more than the two documents can take
        (300_000, True),
    ],
)
def test_spare_room_is_filled_by_white_space_where_it_can_be(out, room, spare, rewritten):
    room(spare)
    assert is_rewritten(out, SEED | DATA) == rewritten
    assert_finished(out, SEED | DATA)
    packed = write_archive(out.with_name("packed.ozx"), sort_values(SEED | DATA)).stat().st_size
    assert out.stat().st_size == packed + (0 if rewritten else spare)
    if not rewritten:  # neither gaps nor extra fields
        assert [finding.id for finding in ozx.validate(out, profile="strict").findings] == ["rfc9/sharding"]


@pytest.mark.parametrize("spare", [0, 300_000])
def test_a_file_without_gaps_is_the_one_that_pack_writes(out, room, spare):
    room(spare)
    is_rewritten(out, SEED | DATA)
    packed = write_archive(out.with_name("packed.ozx"), sort_values(SEED | DATA))
    assert out.read_bytes() == packed.read_bytes()


@pytest.mark.parametrize(
    ("deleted", "rewritten"),
    [([0], False), ([1], False), ([1, 2, 3], False), ([4], False), ([0, 1, 2, 3, 4], False), ([0, 1], True)],
)
def test_holes_become_zeros_unless_they_extend_the_room_too_much(out, room, deleted, rewritten):
    room(6)
    keys = list(DATA)

    def delete(store):
        for number in deleted:
            run(store.delete(keys[number]))

    assert is_rewritten(out, SEED | DATA, also=delete) == rewritten
    kept = {key: value for key, value in (SEED | DATA).items() if key not in [keys[n] for n in deleted]}
    assert_finished(out, kept)
    data = out.read_bytes()
    for number in deleted:
        assert DATA[keys[number]][:100] not in data
        assert keys[number].encode() not in data


def test_the_white_space_is_not_kept_by_the_next_writer(out, room):
    room(1_000)
    is_rewritten(out, SEED | DATA)
    assert zipfile.ZipFile(out).read("0/zarr.json").endswith(b" " * 1_000)
    store = OzxStore(out, mode="a", sync=False)
    put(store, "0/c/0/9", b"more")
    assert contents(store) == SEED | DATA | {"0/c/0/9": b"more"}
    store.close()
    assert_finished(out, SEED | DATA | {"0/c/0/9": b"more"})


@pytest.mark.parametrize("shorter", [0, 1, 5, 6, 7, 100, 60_000])
def test_a_value_replaced_by_a_shorter_one_leaves_room_that_is_used_or_filled(out, room, shorter):
    room(0)
    values = SEED | DATA
    key = "0/c/0/2"

    def replace(store):
        put(store, key, b"")
        put(store, key, values[key][shorter:])

    is_rewritten(out, values, also=replace)
    assert_finished(out, values | {key: values[key][shorter:]})


@pytest.mark.parametrize(("size", "rewritten"), [(2_300_000, True), (2_500_000, False)])
def test_two_per_cent_may_be_unused(out, size, rewritten):
    """The room is 48 KiB at least, most of which is spare."""
    values = SEED | {"0/c/0/0": bytes(size)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing is said of a file that is rewritten in a moment
        assert is_rewritten(out, values) == rewritten
    assert_finished(out, values)
    assert out.stat().st_size <= 1.02 * size + 2_000


@pytest.mark.parametrize(("size", "told"), [(1_000_000, False), (1_100_000, True)])
def test_metadata_that_outgrows_its_room_has_the_file_rewritten_which_is_said(out, room, size, told):
    room(100)
    values = SEED | {"0/c/0/0": bytes(size)}
    longer = {"zarr.json": group(attributes={"ome": {"version": "0.5"}, "notes": "x" * 3_000})}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert is_rewritten(out, values, also=lambda store: put(store, "zarr.json", longer["zarr.json"]))
    assert [warning.category for warning in said] == [RewrittenWarning] * told
    if told:
        assert "exceeds the space" in str(said[0].message)
        assert f"{HEAD + 100:,} bytes" in str(said[0].message)
    assert_finished(out, values | longer)


@pytest.mark.parametrize("length", [2_100, 60_000, 300_000])
def test_metadata_without_room_goes_last_if_it_may(out, room, length):
    room(2_000)
    values = SEED | {f"0/c/0/{number}": bytes([number]) * 500_000 for number in range(3)}
    longer = group(attributes={"ome": {"version": "0.5"}, "notes": "x" * length})
    with warnings.catch_warnings(), OzxStore(out, "w", metadata="last", sync=False) as store:
        warnings.simplefilter("error")
        for key, value in values.items():
            put(store, key, value)
        partial = out.with_name(out.name + ".partial").stat().st_ino
        put(store, "zarr.json", longer)
        run(store.delete("0/c/0/1"))
    assert out.stat().st_ino == partial  # not written again
    reader = ArchiveReader(FileSource(out))
    names = list(reader.columns.names())
    assert names[: len(SEED)] == ["zarr.json", *(key for key in SEED if key != "zarr.json")]
    offsets = dict(zip(names, reader.columns.header_offsets.tolist(), strict=True))
    assert min(offsets.values()) == 0
    assert (offsets["zarr.json"] > offsets["0/c/0/2"]) == (length > 2_100)
    found = {name: reader.read(number).rstrip(b" ") for number, name in enumerate(names)}
    del values["0/c/0/1"]
    assert found == {**values, "zarr.json": longer}
    assert parse_comment(reader.end.comment).json_first
    assert ozx.validate(out, revision="draft").valid


def test_another_word_for_the_place_of_metadata(out):
    with pytest.raises(UsageError, match="expected first or last for metadata; got 'end'"):
        OzxStore(out, "w", metadata="end")


def test_metadata_alone_is_an_archive(out):
    assert not is_rewritten(out, SEED)
    assert_finished(out, SEED)


def test_changed_metadata_alone_keeps_the_data_of_the_old_archive(out):
    write_archive(out, sort_values(SEED | DATA))
    new = {"zarr.json": group(attributes={"ome": {"version": "0.5"}, "notes": "new"})}
    with OzxStore(out, mode="a", sync=False) as store:
        put(store, "zarr.json", new["zarr.json"])
    assert_finished(out, SEED | DATA | new)


def test_everything_deleted_is_an_empty_archive(out):
    store = OzxStore(out, mode="w", sync=False)
    put(store, "0/c/0/0", b"x" * 1_000)
    run(store.clear())
    with pytest.warns(NotOmeZarrWarning, match="no root zarr.json"):
        store.close()
    assert contents(OzxStore(out)) == {}
    with zipfile.ZipFile(out) as archive:
        assert archive.namelist() == []
    assert out.stat().st_size < 200


NO_OME = {
    "no root zarr.json": None,
    "no attributes.ome.version": group(None),
    "zarr.json": b"{",
}


@pytest.mark.parametrize("problem", NO_OME)
def test_what_is_no_ome_zarr_is_written_whole_with_a_warning(out, problem):
    values = {"0/c/0/0": b"data"} | ({} if NO_OME[problem] is None else {"zarr.json": NO_OME[problem]})
    store = OzxStore(out, mode="w", sync=False)
    for key, value in values.items():
        put(store, key, value)
    with pytest.warns(NotOmeZarrWarning, match=problem) as said:
        store.close()
    assert len(said) == 1
    assert contents(OzxStore(out)) == values
    with zipfile.ZipFile(out) as archive:
        assert archive.comment == b""


@pytest.mark.parametrize("problem", NO_OME)
@pytest.mark.parametrize("keep", [True, False])
def test_what_has_to_be_ome_zarr_is_refused_and_kept_as_partial_file(tmp_path, problem, keep):
    out = tmp_path / "a.ozx"
    out.write_bytes(b"old")
    store = OzxStore(out, mode="w", sync=False, require_ome=True, keep_partial=keep)
    put(store, "0/c/0/0", b"data")
    if NO_OME[problem] is not None:
        put(store, "zarr.json", NO_OME[problem])
    with pytest.raises(FormatError, match=problem) as caught:
        store.close()
    assert caught.value.rule == "rfc9/one-hierarchy"
    assert out.read_bytes() == b"old"
    partial = tmp_path / "a.ozx.partial"
    assert partial.exists() == keep
    if keep:
        assert b"data" in partial.read_bytes()
    else:
        assert ".partial" not in caught.value.hint


def test_metadata_comes_first_and_breadth_first_and_the_comment_says_so(out):
    names = ["zarr.json", "a-b/zarr.json", "a/zarr.json", "a/x/zarr.json", "b/.zattrs"]
    with OzxStore(out, mode="w", sync=False) as store:
        put(store, "a/data", b"1")
        for name in reversed(names):
            put(store, name, group())
        put(store, "Data", b"2")
    with zipfile.ZipFile(out) as archive:
        found = archive.namelist()
        comment = json.loads(archive.comment)
        assert [entry.header_offset for entry in archive.infolist()] == sorted(
            e.header_offset for e in archive.infolist()
        )
    depth_first = sorted(names[:4], key=lambda name: (name.count("/"), name.split("/")))
    assert found[:5] == [*depth_first, "b/.zattrs"]
    assert set(found[5:]) == {"a/data", "Data"}
    assert comment["ome"] == {"version": "0.5", "zipFile": {"centralDirectory": {"jsonFirst": True}}}


def test_legacy_metadata_of_the_old_archive_stays_readable(out):
    values = {"zarr.json": group(), "0/.zarray": b"{}", "0/0.0": b"chunk"}
    write_archive(out, values)
    with OzxStore(out, mode="a", sync=False) as store:
        store.set_sync("1/x", buffer(b"more"))
    assert contents(OzxStore(out)) == values | {"1/x": b"more"}
