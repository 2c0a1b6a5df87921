"""Finding entries by name: among many, among equals, and among names made to collide."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from zip_forge import Member

from ozx.archive.columns import parse_columns
from ozx.archive.names import table as name_index
from ozx.archive.names import table as name_table
from ozx.archive.names.table import NameIndex


def index_of(names):
    return NameIndex(parse_columns(b"".join(Member(name).central_record(0) for name in names), len(names)))


_names = st.lists(st.text("a/0\0", max_size=4).map(str.encode) | st.binary(max_size=30), max_size=30)


@given(_names, _names)
def test_the_last_entry_of_a_name_is_found_and_nothing_else(names, others):
    index = index_of(names)
    for name in [*names, *others]:
        expected = len(names) - 1 - names[::-1].index(name) if name in names else None
        assert index.find(name) == expected


@given(_names)
def test_duplicates_are_those_a_dictionary_finds(names):
    groups = {}
    for number, name in enumerate(names):
        groups.setdefault(name, []).append(number)
    expected = [(name, numbers) for name, numbers in groups.items() if len(numbers) > 1]
    assert index_of(names).duplicates() == expected


@given(_names)
def test_values_that_are_folders_are_those_a_set_finds(names):
    index = index_of(names)
    folders = {name[:place] for name in names for place in range(1, len(name)) if name[place : place + 1] == b"/"}
    found = index.values_and_folders()
    assert [value for value, _ in found] == sorted(index.find(folder) for folder in folders & set(names))
    assert all(names[below].startswith(names[value] + b"/") for value, below in found)


def test_folders_in_folders_cost_no_more_than_their_bytes():
    names = [b"a/" * number + b"a" for number in range(800)]
    assert index_of(names).values_and_folders()[-1] == (798, 799)


@pytest.mark.parametrize("names", [[], [b""], [b"a"], [b"", b"\0"], [b"\0", b"\0\0"], [b"n" * 65_535, b"m" * 65_535]])
def test_small_directories(names):
    index = index_of(names)
    assert [index.find(name) for name in names] == list(range(len(names)))
    assert index.find(b"absent") is None
    assert index.find(b"n" * 65_534) is None
    assert index.duplicates() == []


def test_one_name_many_times():
    index = index_of([b"a", b"b", b"a", b"a", b"b", b"c"])
    assert index.duplicates() == [(b"a", [0, 2, 3]), (b"b", [1, 4])]
    assert [index.find(name) for name in (b"a", b"b", b"c")] == [3, 4, 5]


def test_names_of_one_length_are_hashed_in_several_blocks(monkeypatch):
    names = [b"%05d" % number for number in range(2_000)]
    random.Random(0).shuffle(names)
    monkeypatch.setattr(name_table, "_MATRIX", 1_000)
    index = index_of(names)
    assert [index.find(name) for name in names] == list(range(2_000))


def test_hashes_that_collide_do_not_confuse_names():
    # Polynomials modulo 2**64 collide on the Thue-Morse sequence and its complement, whatever their base.
    morse = b"a"
    while len(morse) < 2_048:
        morse += morse.translate(bytes.maketrans(b"ab", b"ba"))
    other = morse.translate(bytes.maketrans(b"ab", b"ba"))
    assert name_index._hash_name(morse) == name_index._hash_name(other)
    index = index_of([morse, b"x", other, morse])
    assert (index.find(morse), index.find(other)) == (3, 2)
    assert index.duplicates() == [(morse, [0, 3])]
    assert index_of([morse]).find(other) is None
    assert index_of([morse, other]).duplicates() == []


@given(_names, _names)
def test_many_names_are_found_at_once_as_one_by_one(names, others):
    index = index_of(names)
    wanted = [*names, *others]
    found = [index.find(name) for name in wanted]
    assert index.find_all(wanted).tolist() == [-1 if row is None else row for row in found]
