"""Finding entries by name: among many, among equals, and among names made to collide."""

from cases.archive_builder import Member
from hypothesis import given
from hypothesis import strategies as st

from ozx.archive.columns import parse_columns
from ozx.archive.names import table as name_index
from ozx.archive.names.table import NameIndex


def index_of(names):
    return NameIndex(parse_columns(b"".join(Member(name).central_header(0) for name in names), len(names)))


_names = st.lists(st.text("a/0\0", max_size=4).map(str.encode) | st.binary(max_size=30), max_size=30)


def test_folders_in_folders_cost_no_more_than_their_bytes():
    names = [b"a/" * number + b"a" for number in range(800)]
    assert index_of(names).values_and_folders()[-1] == (798, 799)


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
