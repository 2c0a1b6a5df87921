"""Deflate and Deflate64, by each decoder: right bytes or a refusal, and never more of them than declared."""

import importlib.machinery
import importlib.metadata
import importlib.util
import json
import random
import subprocess
import sys

import inflate64
import pytest
from cases.archive_builder import Member, deflate, forge
from memory import traced_memory

from ozx.archive import inflate
from ozx.archive.inflate import deflate64_decoder, iter_inflated
from ozx.errors import FormatError, ResourceError, UnsupportedError

DEFLATED, DEFLATE64 = 8, 9
HAS_EXTRA = inflate.zipfile_deflate64() is not None
needs_extra = pytest.mark.skipif(not HAS_EXTRA, reason="the extra ozx-toolkit[zipfile-deflate64] is not installed")


@pytest.fixture(params=["deflate", "inflate64", *(["zipfile-deflate64"] if HAS_EXTRA else [])])
def codec(request, monkeypatch):
    """Method and compressor; every decoder has its turn."""
    if request.param == "inflate64":
        monkeypatch.setattr(inflate, "zipfile_deflate64", lambda: None)
    return (DEFLATED, deflate) if request.param == "deflate" else (DEFLATE64, deflate64)


def deflate64(data):
    packer = inflate64.Deflater()
    return packer.deflate(data) + packer.flush()


def inflated(method, data, size, step=1 << 20):
    slices = (data[start : start + step] for start in range(0, len(data), step))
    return b"".join(iter_inflated(method, slices, size))


def mixed(length, seed=0):
    """Bytes of which some repeat, near and far."""
    rng = random.Random(seed)
    noise = rng.randbytes(length // 3)
    return (noise + bytes(length // 3) + noise)[:length]


VALUES = {
    "empty": b"",
    "byte": b"x",
    "text": b"nucleus " * 1_000,
    "noise": random.Random(1).randbytes(5_000),
    "far": mixed(150_000),  # matches more than 32 KiB back, as only Deflate64 has them
    "zeros": bytes(300_000),
}


@pytest.mark.parametrize("extra", range(1, 260, 37))
def test_a_value_whose_input_ends_before_its_output(codec, extra):
    # The last symbols stand for more than a block of output holds, and no input is left to ask for.
    method, compress = codec
    value = bytes((1 << 20) + extra)
    assert inflated(method, compress(value), len(value)) == value


def test_bytes_behind_a_deflate64_stream_are_passed_over():
    # Its decoders do not say where the stream ended.
    packed = deflate64(b"value")
    assert b"".join(iter_inflated(DEFLATE64, [packed, b"after the end"], 5)) == b"value"


def test_a_stream_cut_off_anywhere_is_refused(codec):
    method, compress = codec
    packed = compress(mixed(600))
    for length in range(len(packed)):
        with pytest.raises(FormatError) as caught:
            inflated(method, packed[:length], 600)
        assert caught.value.rule == "zip/inflate"


def test_damaged_streams_are_refused_or_give_as_many_bytes_as_declared(codec):
    method, compress = codec
    rng = random.Random(2)
    value = mixed(900)
    packed = compress(value)
    for _ in range(1_500):
        damaged = bytearray(packed)
        for _ in range(rng.randint(1, 3)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        try:
            result = inflated(method, bytes(damaged), 900, rng.choice([1, 7, 100, 5_000]))
        except FormatError as error:
            assert error.rule == "zip/inflate"  # noqa: PT017 (most are refused, some not)
        else:
            assert len(result) == 900


def test_a_stream_that_is_damaged_late_gives_its_beginning_first(codec):
    method, compress = codec
    value = mixed(6_000_000)
    packed = compress(value)
    blocks = iter_inflated(method, [packed[: len(packed) // 2], b"\xff" * 100], len(value))
    given_out = b""
    with pytest.raises(FormatError):
        for block in blocks:
            given_out += block
    assert given_out
    assert value.startswith(given_out[:1_000_000])


def test_memory_is_bounded_whatever_a_stream_inflates_to(codec):
    # 1,000 : 1 and more. Deflate64 has symbols for 65,538 bytes; its decoders take no bound, so that slices are small.
    method, compress = codec
    packed = compress(bytes(96 << 20))
    assert len(packed) * 900 < 96 << 20
    total = largest = 0
    with traced_memory() as memory:
        for block in iter_inflated(method, [packed], 96 << 20):
            total, largest = total + len(block), max(largest, len(block))
    assert total == 96 << 20
    bound = 1 << 20 if method == DEFLATED else 30 << 20
    assert largest <= bound
    assert memory.peak < 4 * bound


@pytest.mark.parametrize("declared", [0, 10, 1 << 20])
def test_a_bomb_is_left_as_soon_as_it_exceeds_what_was_declared(codec, declared):
    method, compress = codec
    packed = compress(bytes(16 << 20))
    taken = 0

    def slices():
        nonlocal taken
        for start in range(0, len(packed), 100):
            taken += 1
            yield packed[start : start + 100]

    given_out = 0
    with pytest.raises(FormatError, match="found more"):
        for block in iter_inflated(method, slices(), declared):
            given_out += len(block)
    assert given_out <= declared
    assert taken < 40


def test_refusals_and_failures_of_the_reading_side_pass_through(codec):
    method, compress = codec

    def slices(error):
        yield compress(b"value")[:3]
        raise error

    # A FormatError is a ValueError, as is what the decoders raise.
    for error in (
        FormatError("cut off", rule="zip/truncated"),
        OSError(5, "Input/output error"),
        UnsupportedError("no"),
    ):
        with pytest.raises(type(error)) as caught:
            list(iter_inflated(method, slices(error), 5))
        assert caught.value is error


@pytest.mark.parametrize(
    ("method", "name"), [(0, "stored"), (12, "bzip2"), (14, "lzma"), (93, "zstd"), (1234, "method 1234")]
)
def test_other_methods_are_refused_by_name(method, name):
    with pytest.raises(UnsupportedError, match=f"found {name}") as caught:
        list(iter_inflated(method, [b"data"], 4))
    assert caught.value.rule == "zip/method"
    assert caught.value.hint


# Reads a stored, a deflated and a Deflate64 entry, and tells before and after each what has been loaded.
PROGRAM = """
import json, sys, zipfile
before = {name: getattr(zipfile, name) for name in dir(zipfile)}
from ozx.archive import inflate
from ozx.archive.reader import ArchiveReader
if sys.argv[2] == "inflate64":
    inflate.zipfile_deflate64 = lambda: None

def loaded():
    with open("/proc/self/maps") as maps:
        extension = any("zipfile_deflate64/deflate64" in line for line in maps)
    return ["extension"] * extension + [name for name in ("inflate64", "zipfile_deflate64") if name in sys.modules]

reader = ArchiveReader(sys.argv[1])
reader.check()
steps, values = [loaded()], []
for index in range(3):
    values.append(reader.read(index).decode())
    steps.append(loaded())
patched = [name for name in dir(zipfile) if before.get(name) is not getattr(zipfile, name)]
try:
    by_zipfile = zipfile.ZipFile(sys.argv[1]).read("deflate64").decode()
except NotImplementedError:
    by_zipfile = "refused"
print(json.dumps([steps, values, patched, by_zipfile, inflate.deflate64_decoder()]))
"""


@pytest.mark.posix("only Linux tells what is loaded", on="linux")
@pytest.mark.parametrize(
    ("decoder", "loads"),
    [
        ("inflate64", "inflate64"),
        pytest.param("zipfile-deflate64", "extension", marks=[needs_extra, pytest.mark.deflate64_extra]),
    ],
)
def test_the_decoder_is_loaded_at_the_first_deflate64_entry_and_zipfile_stays_unpatched(tmp_path, decoder, loads):
    value = b"value " * 100
    members = [
        Member(b"stored", value),
        Member(b"deflated", deflate(value), value, DEFLATED),
        Member(b"deflate64", deflate64(value), value, DEFLATE64),
    ]
    (tmp_path / "three.zip").write_bytes(forge(members))
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "three.zip"), decoder]
    answer = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    steps, values, patched, by_zipfile, name = json.loads(answer)
    assert steps == [[], [], [], [loads]]
    assert values == [value.decode()] * 3
    assert patched == []
    assert by_zipfile == "refused"
    assert name.startswith(decoder + " ")


def test_the_decoder_names_itself(monkeypatch):
    monkeypatch.setattr(inflate, "zipfile_deflate64", lambda: None)
    assert deflate64_decoder() == f"inflate64 {inflate64.__version__}"
    monkeypatch.setattr(inflate, "zipfile_deflate64", lambda: object)
    monkeypatch.setattr(importlib.metadata, "version", lambda package: f"{len(package)}.0")
    assert deflate64_decoder() == "zipfile-deflate64 17.0"


def test_the_extra_is_preferred_to_inflate64(monkeypatch):
    made = []

    class Deflate64:
        """Has the methods that the extension module's decoder has."""

        def __init__(self):
            self.inflater = inflate64.Inflater()
            made.append(self)

        @property
        def eof(self):
            return self.inflater.eof

        def decompress(self, data):
            assert not self.eof  # what the extension returns then is undefined
            return self.inflater.inflate(data)

    packed = deflate64(VALUES["far"])
    monkeypatch.setattr(inflate, "zipfile_deflate64", lambda: Deflate64)
    assert inflated(DEFLATE64, packed + bytes(5_000), len(VALUES["far"])) == VALUES["far"]
    assert len(made) == 1


def test_without_any_decoder_the_package_is_named(monkeypatch):
    monkeypatch.setattr(inflate, "zipfile_deflate64", lambda: None)
    monkeypatch.setitem(sys.modules, "inflate64", None)
    with pytest.raises(ResourceError, match="needs the extra deflate64") as caught:
        list(iter_inflated(DEFLATE64, [b""], 0))
    assert caught.value.hint == 'Install it: pip install "ozx-toolkit[deflate64]"'


@pytest.mark.parametrize(
    "files",
    [
        pytest.param({}, id="not-installed"),
        pytest.param({"zipfile_deflate64.py": "import none_such"}, id="a-module"),
        pytest.param({"zipfile_deflate64/__init__.py": "import none_such"}, id="no-extension"),
        pytest.param(
            {"zipfile_deflate64/__init__.py": "import none_such", "zipfile_deflate64/deflate64.py": "import none_such"},
            id="extension-in-python",
        ),
    ],
)
def test_what_is_not_the_extra_is_neither_taken_for_it_nor_imported(monkeypatch, tmp_path, files):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    importlib.invalidate_caches()
    assert inflate.zipfile_deflate64.__wrapped__() is None
    assert "zipfile_deflate64" not in sys.modules
