"""Entry names: decoding, encoding, refusal."""

import struct
import zipfile
import zlib
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from zip_forge import UTF8, Member, extra_field, forge

from ozx.archive.names.decoding import are_plain_names, decode_name, encode_name, name_fault
from ozx.errors import FormatError


def unicode_path(raw: bytes, text: bytes, *, version: int = 1, checksum: int | None = None) -> bytes:
    """4.6.9."""
    return extra_field(0x7075, struct.pack("<BI", version, zlib.crc32(raw) if checksum is None else checksum) + text)


CAFE = b"caf\x82"


@pytest.mark.parametrize(
    ("raw", "flags", "extra", "name"),
    [
        (b"", 0, b"", ""),
        (b"0/c/0", 0, b"", "0/c/0"),
        (b"0/c/0", UTF8, b"", "0/c/0"),
        ("é".encode(), UTF8, b"", "é"),
        ("é".encode(), 0, b"", "é"),  # no bit 11, but UTF-8
        (CAFE, 0, b"", "café"),
        (CAFE, UTF8, b"", "caf\udc82"),
        (CAFE, 0, unicode_path(CAFE, "日本".encode()), "日本"),
        ("é".encode(), 0, unicode_path("é".encode(), "日本".encode()), "日本"),
        (CAFE, UTF8, unicode_path(CAFE, "日本".encode()), "caf\udc82"),  # bit 11 has said what it is
        (CAFE, 0, extra_field(1, b"") + unicode_path(CAFE, "日本".encode()), "日本"),
        (CAFE, 0, unicode_path(CAFE, "日".encode(), version=2), "café"),
        (CAFE, 0, unicode_path(CAFE, "日".encode(), checksum=5), "café"),  # of a name it had before
        (CAFE, 0, unicode_path(CAFE, b""), "café"),
        (CAFE, 0, unicode_path(CAFE, b"0/c/0"), "café"),  # it would hide another entry, or be found by no look-up
        (CAFE, 0, unicode_path(CAFE, "日/".encode()), "café"),  # it would make a folder of a file
        (CAFE + b"/", 0, unicode_path(CAFE + b"/", "日/".encode()), "日/"),
        (b"ascii", 0, unicode_path(b"ascii", "é".encode()), "ascii"),
        (CAFE, 0, extra_field(0x7075, b"\1"), "café"),
        (CAFE, 0, unicode_path(CAFE, b"\xff"), "\udcff"),
    ],
)
def test_names_are_decoded(raw, flags, extra, name):
    assert decode_name(raw, flags, extra) == name


def test_code_page_437_is_the_one_of_the_standard_library():
    raw = bytes(range(128, 256))
    with zipfile.ZipFile(BytesIO(forge([Member(raw)]))) as archive:
        assert archive.namelist() == [decode_name(raw, 0)]


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
def test_what_is_encoded_is_decoded_to_the_same(name):
    raw, flags = encode_name(name)
    assert decode_name(raw, flags) == name
    assert flags == (0 if name.isascii() else UTF8)


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("\udcff", r"entry name '\\udcff' is refused: it is not valid UTF-8"),
        ("x" * 65_536, r"entry name 'x{100}…' is refused: it is longer than 65,535 bytes"),
        ("é" * 32_768, r"entry name 'é{100}…' is refused: it is longer than 65,535 bytes"),
    ],
)
def test_names_that_no_header_can_hold_are_refused(name, fault):
    with pytest.raises(FormatError, match=f"^{fault}$") as caught:
        encode_name(name)
    assert caught.value.rule == "zip/name"
    assert name_fault(name) in str(caught.value)


def test_the_longest_name_is_encoded():
    assert encode_name("é" * 32_767 + "x")[0].decode() == "é" * 32_767 + "x"


@pytest.mark.parametrize(
    "name",
    [
        "zarr.json",
        "0/c/0/0",
        "folder/",
        "a/b/",
        "é",
        "..a",
        "a..",
        "...",
        ".zattrs",
        "a/.../b",
        "ab:c",
        "1:",
        "x" * 65_535,
    ],
)
def test_these_names_are_accepted(name):
    assert name_fault(name) is None


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("", "empty"),
        ("/", "absolute"),
        ("/etc/passwd", "absolute"),
        ("//server/share", "absolute"),
        ("..", "'..'"),
        ("../evil", "'..'"),
        ("a/../../evil", "'..'"),
        ("a/..", "'..'"),
        ("a/../", "'..'"),
        (".", "'.'"),
        ("./a", "'.'"),
        ("a/./b", "'.'"),
        ("a//b", "empty component"),
        ("a//", "empty component"),
        ("a\\b", "backslash"),
        ("..\\evil", "backslash"),
        ("a\0b", "NUL"),
        ("C:/evil", "drive"),
        ("c:evil", "drive"),
        ("x" * 65_536, "65,535"),
        ("é" * 32_768, "65,535"),
        ("caf\udc82", "UTF-8"),
        ("\ud800", "UTF-8"),  # as Windows may name a file
    ],
)
def test_these_names_are_refused(name, fault):
    assert fault in name_fault(name)


@given(st.text(max_size=12) | st.text("./\\ab\0:", max_size=12))
def test_no_name_breaks_the_check(name):
    fault = name_fault(name)
    parts = name.split("/")
    if fault is None:
        assert not {"..", "."} & set(parts)
        assert "" not in parts[:-1]


def are_plain(names):
    return are_plain_names(b"".join(b"\0" + name for name in names), len(names))


@given(st.lists(st.text("a./\\:\0é", max_size=5) | st.sampled_from([".", "..", "a/../b", "zarr.json"]), max_size=4))
def test_plain_names_have_no_fault(names):
    names = [name for name in names if name]
    if are_plain([name.encode() for name in names]):
        assert all(name.isascii() for name in names)
        assert [name_fault(name) for name in names] == [None] * len(names)


def test_what_hierarchies_are_made_of_is_plain():
    assert are_plain([b"zarr.json", b"0/c/0/0", b"OME/METADATA.ome.xml", b"a..b/c...", b"folder/", b"x" * 65_535])
    for name in (b"/", b"a//b", b"..", b"a/..", b"../a", b".", b"a\\b", b"C:x", b"a\0b", b"\0", "é".encode()):
        assert not are_plain([b"zarr.json", name])
        assert not are_plain([name])
