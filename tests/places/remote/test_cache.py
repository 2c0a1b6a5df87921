"""Directories of archives that were opened before: one request, and never another file's bytes."""

import os
import subprocess
import sys
import time

import numpy as np
import pytest
from buckets import bucket, s3_endpoint  # noqa: F401 (fixtures)
from cases.archive_builder import ArchiveBuilder, array, group
from remote_archives import HURRY, MIB, TAIL
from servers import serving

import ozx
from ozx.archive.reader import ArchiveReader
from ozx.cli.app import run
from ozx.errors import FormatError
from ozx.file_changes import Mark
from ozx.places.byte_source import MemorySource
from ozx.places.remote import cache
from ozx.places.remote.cache import Record, cache_folder, find_record, store_record
from ozx.places.remote.source import RemoteSource

pytest.importorskip("obstore", reason="the extra remote is not installed")

MARK = ("GET", "bytes=-1")
ENTRIES = 20_000


@pytest.fixture(scope="module")
def data():
    """An archive whose directory takes more than the first request brings."""
    builder = ArchiveBuilder()
    builder.add("zarr.json", group())
    builder.add("0/zarr.json", array([ENTRIES], [1]))
    for number in range(ENTRIES):
        builder.add(f"0/c/{number}", b"12345678")
    return builder.build()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("OZX_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "directories"


def use(url, **options):
    reader = ArchiveReader(RemoteSource(url, HURRY | options))
    reader.check()
    reader.prefetch_head()
    assert reader.read(reader.find("zarr.json")) == group()
    count = len(reader)
    reader.source.close()
    return count


class TestRequests:
    def test_the_second_opening_takes_one(self, data, folder):
        with serving(data) as server:
            assert use(server.url) == ENTRIES + 2
            assert len(server.take_requests()) == 3
            for query in ("", "?signature=other"):  # which changes with every signed URL
                assert use(server.url + query) == ENTRIES + 2
                assert server.take_requests() == [MARK]

    @pytest.mark.parametrize(("verb", "count"), [("info", 1), ("ls", 1), ("cat", 3), ("validate", 3), ("open", 1)])
    def test_verbs(self, data, folder, verb, count, capsys):
        def call(url):
            if verb == "open":
                ozx.open(url).store.close()
            else:
                run([verb, url, *{"cat": ["zarr.json"], "validate": ["--json"]}.get(verb, [])])
            return capsys.readouterr().out

        with serving(data) as server:
            first = call(server.url)
            assert len(server.take_requests()) > count
            assert call(server.url) == first
            # Those beyond 1 are for values and local headers.
            assert len(server.take_requests()) == count

    @pytest.mark.ci
    def test_at_the_end_of_a_process(self, data, folder):
        with serving(data) as server:
            program = f"import ozx, sys; group = ozx.open({server.url!r}); sys.exit(0)"
            for count in (3, 1):
                subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
                assert len(server.take_requests()) == count

    @pytest.mark.ci
    def test_a_bucket(self, data, folder, bucket):  # noqa: F811
        bucket.client.put_object(Bucket=bucket.name, Key="a.ozx", Body=data)
        for count in (3, 1):
            source = RemoteSource(f"{bucket.url}/a.ozx")
            reader = ArchiveReader(source)
            reader.check()
            reader.prefetch_head()
            assert source.requests == count
            source.close()

    def test_small_files_are_not_kept(self, folder):
        with serving(ArchiveBuilder().add("zarr.json", group()).build()) as server:
            use_small = ArchiveReader(RemoteSource(server.url))
            use_small.check()
            use_small.source.close()
            assert server.requests == [TAIL]
        assert not folder.exists()


class TestChanges:
    def test_another_tag(self, data, folder):
        with serving(data) as server:
            use(server.url)
            server.etag = '"second"'
            server.take_requests()
            use(server.url)
            assert server.take_requests()[:2] == [MARK, TAIL]
            use(server.url)
            assert server.take_requests() == [MARK]
        assert len(os.listdir(folder)) == 1

    @pytest.mark.parametrize("tag", [None, 'W/"weak"'])
    def test_no_strong_tag(self, data, folder, tag):
        with serving(data) as server:
            server.etag = tag
            for _ in range(2):
                use(server.url)
                assert len(server.take_requests()) == 3
        assert not folder.exists()

    def test_a_change_after_the_first_request(self, data, folder):
        with serving(data) as server:
            use(server.url)
            reader = ArchiveReader(RemoteSource(server.url, HURRY))
            reader.check()
            server.etag = '"second"'
            with pytest.raises(FormatError, match="changed while it was read"):
                reader.source.read_at(2 * MIB if len(data) > 3 * MIB else 1000, 10)


class TestRecords:
    def damage(self, content):
        yield b""
        yield content[:20]
        yield content[:-1]
        yield content + b"x"
        yield b"other" + content[5:]
        for place in (2, 14, 22, 60, len(content) // 2, len(content) - 1):
            yield content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]

    def test_damaged_ones_are_ignored(self, data, folder):
        with serving(data) as server:
            use(server.url)
            (path,) = folder.iterdir()
            content = path.read_bytes()
            for damaged in self.damage(content):
                path.write_bytes(damaged)
                server.take_requests()
                use(server.url)
                assert server.take_requests()[0] == TAIL
                assert path.read_bytes() == content

    def test_spans_that_lie(self, folder):
        store_record("https://h/x", {}, Record(Mark(10, '"a"'), (MemorySource(b"123456", start=5),)))
        assert find_record("https://h/x", {}) is None

    @pytest.mark.posix("permissions of POSIX systems")
    def test_privacy(self, folder):
        os.makedirs(folder, mode=0o755)
        secret = "SEC" + "RET"
        store_record(
            f"https://user:{secret}@h/name?sig={secret}",
            {"endpoint": secret},
            Record(Mark(3, '"a"'), (MemorySource(b"abc"),)),
        )
        (path,) = folder.iterdir()
        assert folder.stat().st_mode & 0o777 == 0o700
        assert path.stat().st_mode & 0o777 == 0o600
        assert secret.encode() not in path.read_bytes()
        assert b"name" not in path.read_bytes()
        assert len(path.stem) == 64

    def test_the_oldest_go_first(self, folder, monkeypatch):
        monkeypatch.setattr(cache, "_MOST_BYTES", 2_500)
        for number in range(4):
            store_record(f"https://h/{number}", {}, Record(Mark(1000, '"a"'), (MemorySource(bytes(1000)),)))
            time.sleep(0.01)
            find_record("https://h/0", {})
        assert [number for number in range(4) if find_record(f"https://h/{number}", {})] == [0, 3]

    def test_leftovers_of_killed_processes(self, folder):
        folder.mkdir(parents=True)
        for name, age in (("old.part", 7200), ("new.part", 0)):
            (folder / name).write_bytes(b"x")
            os.utime(folder / name, (time.time() - age,) * 2)
        store_record("https://h/x", {}, Record(Mark(3, '"a"'), (MemorySource(b"abc"),)))
        assert sorted(each.suffix for each in folder.iterdir()) == [".part", ".spans"]

    @pytest.mark.ci
    def test_many_processes(self, folder):
        program = (
            "import sys\n"
            "from ozx.places.remote.cache import *\n"
            "from ozx.places.byte_source import MemorySource\n"
            "from ozx.file_changes import Mark\n"
            "for number in range(100):\n"
            "    text = (sys.argv[1] * 20_000).encode()\n"
            "    store_record('https://h/x', {}, Record(Mark(len(text), '\"a\"'), (MemorySource(text),)))\n"
            "    found = find_record('https://h/x', {})\n"
            "    assert found is not None and len(set(found.spans[0].data)) == 1\n"
        )
        running = [subprocess.Popen([sys.executable, "-c", program, letter]) for letter in "abcd"]
        assert [each.wait(60) for each in running] == [0, 0, 0, 0]
        assert len(os.listdir(folder)) == 1


class TestOff:
    @pytest.mark.parametrize("how", ["empty", "option", "command", "unwritable", "file"])
    def test_nothing_is_kept(self, data, folder, monkeypatch, tmp_path, how, capsys):
        options = []
        if how == "empty":
            monkeypatch.setenv("OZX_CACHE", "")
        elif how == "command":
            options = ["--no-cache"]
        elif how == "unwritable":  # no permission of a file system stops root
            monkeypatch.setattr(cache.os, "makedirs", self.refuse)
        elif how == "file":
            (tmp_path / "cache").write_text("here")
        with serving(data) as server, ozx.storage_options(cache=how != "option"):
            for _ in range(2):
                assert run(["ls", server.url, *options]) == 0
                assert len(server.take_requests()) > 1
        assert capsys.readouterr().err == ""
        assert not folder.exists()

    def refuse(self, *args, **options):
        raise PermissionError(13, "Permission denied")

    @pytest.mark.posix("Windows has one folder for all kinds of data")
    def test_the_default_folder(self, monkeypatch):
        monkeypatch.delenv("OZX_CACHE")
        monkeypatch.setattr("sys.platform", "linux")
        monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
        assert cache_folder() == "/caches/ozx"
        monkeypatch.delenv("XDG_CACHE_HOME")
        assert cache_folder() == os.path.expanduser("~/.cache/ozx")
        monkeypatch.setattr("sys.platform", "darwin")
        assert cache_folder().endswith("Library/Caches/ozx")


@pytest.mark.ci
def test_pixels_are_not_kept(folder, tmp_path):
    pixels = np.random.default_rng(1).integers(0, 65536, (2048, 2048), "uint16")
    ozx.write_image(tmp_path / "a.ozx", pixels, codec="none", shards="none")
    with serving((tmp_path / "a.ozx").read_bytes()) as server:
        assert (ozx.open(server.url)["0"][:] == pixels).all()
        ozx.repack(server.url, tmp_path / "b.ozx")
    assert sum(path.stat().st_size for path in folder.glob("*")) < 1.2 * MIB
