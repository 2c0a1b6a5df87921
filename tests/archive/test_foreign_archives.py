"""Archives by other programs, in every form their options give: read and repaired, byte for byte."""

import io
import random
import zipfile

import pytest
from cases.archive_builder import group, write_tree
from commands import run_shell
from repaired import repair

from ozx.archive.reader import ArchiveReader
from ozx.archive.records import DEFLATE64, DEFLATED, FLAG_DATA_DESCRIPTOR, STORED
from ozx.errors import UnsupportedError
from ozx.flow.repair.source import OWN_IDS
from ozx.places.byte_source import MemorySource
from ozx.validation.rules.table import RULES

RNG = random.Random(11)
NOISE = RNG.randbytes(50_000)
VALUES = {
    "zarr.json": group(),
    "0/c/0/0": NOISE,
    "0/c/0/1": b"long " * 60_000,
    "0/c/0/2": NOISE + bytes(30_000) + NOISE,  # a match further back than deflate looks
    "labels/zélé/日本.bin": b"label " * 50,
    "empty": b"",
}


def read_all(data):
    """Every value that is no directory, whole, in part and in blocks, after all checks."""
    reader = ArchiveReader(MemorySource(data))
    reader.check()
    found = {}
    for index, name in enumerate(reader.columns.names()):
        if not name.endswith("/"):
            value = found[name] = reader.read(index)
            assert b"".join(reader.iter_blocks(index)) == value
            assert reader.read(index, 3, 1_000) == value[3:1_003]
            assert reader.find(name) == index
    return reader, found


class Stream(io.RawIOBase):
    """Takes bytes and cannot go back, so that zipfile writes data descriptors."""

    def __init__(self):
        self.data = bytearray()

    def writable(self):
        return True

    def write(self, data):
        self.data += data
        return len(data)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED], ids=["stored", "deflated"])
@pytest.mark.parametrize("is_stream", [False, True], ids=["file", "stream"])
@pytest.mark.parametrize("is_zip64", [False, True], ids=["", "zip64"])
@pytest.mark.parametrize("prepended", [b"", b"#!/bin/sh\nexit\n"], ids=["", "prepended"])
@pytest.mark.parametrize("comment", [b"", b"a comment"], ids=["", "comment"])
def test_zipfile(method, is_stream, is_zip64, prepended, comment):
    target = Stream() if is_stream else io.BytesIO()
    with zipfile.ZipFile(target, "w", method) as archive:
        for name, value in VALUES.items():
            with archive.open(name, "w", force_zip64=is_zip64) as entry:
                entry.write(value)
        archive.comment = comment
    data = bytes(target.data) if is_stream else target.getvalue()
    reader, found = read_all(prepended + data)
    assert found == VALUES
    assert list(found) == list(VALUES)
    assert (reader.end.prepended, reader.end.comment) == (len(prepended), comment)
    assert set(reader.columns.methods.tolist()) == {method}
    assert bool(reader.columns.flags[0] & FLAG_DATA_DESCRIPTOR) == is_stream
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for index, info in enumerate(archive.infolist()):
            columns = reader.columns
            ours = (
                columns.name(index),
                columns.crc32s[index],
                columns.compressed_sizes[index],
                columns.header_offsets[index],
            )
            assert ours == (info.filename, info.CRC, info.compress_size, info.header_offset + len(prepended))


def test_zipfile_appended_to_a_file(tmp_path):
    path = tmp_path / "program"
    path.write_bytes(b"\x7fELF" + bytes(1_000))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("zarr.json", b"{}")
    reader, found = read_all(path.read_bytes())
    assert found == {"zarr.json": b"{}"}
    assert reader.end.prepended == 0  # its offsets count from the file's beginning


def test_zipfile_with_directories_and_dates():
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.mkdir("0")
        archive.writestr(zipfile.ZipInfo("0/zarr.json", (2107, 12, 31, 23, 59, 58)), b"{}")
    reader, found = read_all(target.getvalue())
    assert found == {"0/zarr.json": b"{}"}
    assert reader.columns.names() == ["0/", "0/zarr.json"]
    assert reader.read(0) == b""


@pytest.mark.posix("its programs are run by sh")
@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_zipfile_methods_that_are_refused(method):
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", method) as archive:
        archive.writestr("a", b"value")
    with pytest.raises(UnsupportedError):
        ArchiveReader(MemorySource(target.getvalue())).check()


FILES = ("zarr.json", "0", "labels", "empty")
OUT = "../out.zip"
PROGRAMS = {
    # name: (what has to be installed, command, methods of the entries)
    "zip": ("zip", f"zip -qr {OUT} .", {STORED, DEFLATED}),
    "zip-stored": ("zip", f"zip -qr0 {OUT} .", {STORED}),
    "zip-without-directories": ("zip", f"zip -qrD {OUT} .", {STORED, DEFLATED}),
    "zip-zip64": ("zip", f"zip -qr -fz {OUT} .", {STORED, DEFLATED}),
    "zip-descriptors": ("zip", f"zip -qr -fd {OUT} .", {STORED, DEFLATED}),
    "zip-utf8": ("zip", f"zip -qr -UN=UTF8 {OUT} .", {STORED, DEFLATED}),
    "zip-stream": ("zip", f"zip -qr - . | cat > {OUT}", {STORED, DEFLATED}),
    "zip-stream-stored": ("zip", f"zip -qr0 - . | cat > {OUT}", {STORED}),
    "zip-comment": ("zip", f"zip -qr {OUT} . && echo note | zip -qz {OUT}", {STORED, DEFLATED}),
    "zip-self-extractor": ("zip", f"zip -qr ../a.zip . && cat zarr.json ../a.zip > {OUT}", {STORED, DEFLATED}),
    "zip-adjusted": (
        "zip",
        f"zip -qr ../a.zip . && cat zarr.json ../a.zip > {OUT} && zip -qA {OUT}",
        {STORED, DEFLATED},
    ),
    "7z": ("7z", f"7z a -bd -tzip {OUT} .", {STORED, DEFLATED}),
    "7z-stored": ("7z", f"7z a -bd -tzip -mm=Copy {OUT} .", {STORED}),
    "7z-deflate64": ("7z", f"7z a -bd -tzip -mm=Deflate64 {OUT} .", {STORED, DEFLATE64}),
    "bsdtar": ("bsdtar", f"bsdtar -cf {OUT} --format zip {' '.join(FILES)}", {STORED, DEFLATED}),
    "bsdtar-stored": (
        "bsdtar",
        f"bsdtar -cf {OUT} --format zip --options zip:compression=store {' '.join(FILES)}",
        {STORED},
    ),
    "bsdtar-stream": ("bsdtar", f"bsdtar -cf - --format zip {' '.join(FILES)} | cat > {OUT}", {STORED, DEFLATED}),
    "jar": ("jar", f"jar -cMf {OUT} .", {STORED, DEFLATED}),
    "jar-stored": ("jar", f"jar -cM0f {OUT} .", {STORED}),
}


@pytest.fixture
def folder(tmp_path):
    return write_tree(tmp_path / "source", VALUES)


@pytest.mark.posix("its programs are run by sh")
@pytest.mark.parametrize("name", PROGRAMS)
def test_program(folder, name):
    program, command, methods = PROGRAMS[name]
    run_shell(folder, command, program)
    reader, found = read_all((folder.parent / "out.zip").read_bytes())
    assert found == VALUES
    assert set(reader.columns.methods.tolist()) == methods
    ids, repaired = repair(folder.parent / "out.zip")
    assert repaired == VALUES
    assert ("rfc9/stored" in ids) == (methods != {STORED})
    assert ("zip/directory-entry" in ids) == any(name.endswith("/") for name in reader.columns.names())
    assert ("repair/data-descriptor" in ids) == bool((reader.columns.flags & FLAG_DATA_DESCRIPTOR).any())
    assert ids <= RULES.keys() | set(OWN_IDS)


@pytest.mark.posix("its programs are run by sh")
@pytest.mark.parametrize("command", ["zip -q - - | cat > ../out.zip", "zip -q ../out.zip -", "zip -q0 ../out.zip -"])
def test_zip_of_its_standard_input(folder, command):
    run_shell(folder, f"cat 0/c/0/1 | {command}", "zip")
    assert read_all((folder.parent / "out.zip").read_bytes())[1] == {"-": VALUES["0/c/0/1"]}


@pytest.mark.posix("its programs are run by sh")
@pytest.mark.parametrize(("program", "options"), [("zip", "zip -qr -P secret"), ("7z", "7z a -bd -tzip -psecret")])
def test_encrypted_archives_are_refused(folder, program, options):
    run_shell(folder, f"{options} ../out.zip .", program)
    reader = ArchiveReader(str(folder.parent / "out.zip"))
    with pytest.raises(UnsupportedError) as caught:
        reader.check()
    assert caught.value.rule == "zip/encrypted"
    with pytest.raises(UnsupportedError, match="encrypted"):
        reader.read(reader.find("zarr.json"))


@pytest.mark.posix("its programs are run by sh")
@pytest.mark.parametrize(("program", "command"), [("zip", "zip -qr -s 64k"), ("7z", "7z a -bd -tzip -v64k")])
def test_split_archives_are_refused(folder, program, command):
    run_shell(folder, f"{command} ../out.zip .", program)
    parts = sorted(path for path in folder.parent.iterdir() if path.name.startswith("out."))
    assert len(parts) > 1
    for part in parts:
        with pytest.raises((UnsupportedError, ValueError)):
            ArchiveReader(str(part)).check()


@pytest.mark.posix("its programs are run by sh")
def test_methods_of_other_programs_are_refused(folder):
    run_shell(folder, "7z a -bd -tzip -mm=LZMA ../out.zip 0/c/0/1", "7z")
    with pytest.raises(UnsupportedError, match="found lzma"):
        ArchiveReader(str(folder.parent / "out.zip")).check()
