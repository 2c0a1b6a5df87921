"""`edit` of files in buckets: the data are copied by the server, and the object keeps what it had."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import jsonschema
import numpy as np
import pytest
from buckets import bucket, s3_endpoint, use_endpoint  # noqa: F401 (fixtures)
from commands import schema_of
from hierarchies import FIXTURES
from packed import pack_tree
from reference_s3 import serving

import ozx
from ozx.archive.writer import ArchiveWriter, local_header
from ozx.cli.app import run
from ozx.cloud import replacement
from ozx.errors import FormatError, UnsupportedError, UsageError
from ozx.ome.comment import make_comment
from ozx.operations import repack as repack_module
from ozx.operations.edit import edit

MIB = 1 << 20
SIZE = {"pixel_size": {"y": 0.65, "x": 0.65}}


@pytest.fixture
def server(monkeypatch, tmp_path):
    with serving() as server:
        use_endpoint(server.url, monkeypatch)
        yield server


@pytest.fixture(scope="session")
def large(tmp_path_factory):
    """An image of 16 MiB, with its levels 22."""
    folder = tmp_path_factory.mktemp("large")
    pixels = np.random.default_rng(5).integers(0, 65536, (8, 1024, 1024), "uint16")
    ozx.write_image(folder / "large.ozx", pixels, axes="zyx", pixel_size=(1, 0.325, 0.325), unit="um", codec="none")
    return folder / "large.ozx"


def content(server, key) -> bytes:
    return b"".join(b"".join(run.blocks()) for run in server.objects[key].runs)


class TestData:
    def test_the_cost_is_predicted(self, server, large):
        server.put_file("a.ozx", large)
        planned = edit("s3://b/a.ozx", **SIZE, dry_run=True)
        assert not planned.written
        assert len(server.objects["a.ozx"].runs) == 1
        server.calls, server.sent, server.received = [], 0, 0
        made = edit("s3://b/a.ozx", **SIZE)
        assert made.transfer == planned.transfer
        assert len(server.calls) == planned.transfer.requests
        xml = 8 << 10  # bodies that are not of the object
        assert planned.transfer.bytes_read <= server.sent <= planned.transfer.bytes_read + xml
        assert planned.transfer.bytes_sent <= server.received <= planned.transfer.bytes_sent + xml

    def test_a_foreign_server(self, bucket, large, tmp_path):  # noqa: F811
        bucket.client.put_object(Bucket=bucket.name, Key="a.ozx", Body=large.read_bytes())
        assert edit(f"{bucket.url}/a.ozx", **SIZE).written
        (tmp_path / "a.ozx").write_bytes(bucket.get("a.ozx"))
        assert ozx.validate(tmp_path / "a.ozx", level="data").valid
        assert bucket.uploads() == []


class TestRepack:
    """`repack` of an object onto itself."""

    def test_an_object_that_changes_meanwhile(self, bucket, large, monkeypatch):  # noqa: F811
        bucket.put("a.ozx", large.read_bytes())
        url, theirs = f"{bucket.url}/a.ozx", large.read_bytes() + bytes(1)
        write = repack_module.write_archive

        def write_archive(*arguments):
            written = write(*arguments)
            bucket.put("a.ozx", theirs)
            return written

        monkeypatch.setattr(repack_module, "write_archive", write_archive)
        with pytest.raises(FormatError, match="changed"):
            ozx.repack(url, url, force=True)
        assert bucket.get("a.ozx") == theirs
        assert bucket.uploads() == []


class TestProperties:
    def test_headers_tags_and_metadata_stay(self, bucket, large):  # noqa: F811
        kept = {
            "ContentType": "application/x-ozx",
            "CacheControl": "max-age=60",
            "StorageClass": "STANDARD_IA",
            "ServerSideEncryption": "AES256",
            "Metadata": {"microscope": "3"},
            "Tagging": "project=a%20b&keep=yes",
        }
        with large.open("rb") as file:
            bucket.client.put_object(Bucket=bucket.name, Key="a.ozx", Body=file, **kept)
        edit(f"{bucket.url}/a.ozx", **SIZE)
        head = bucket.client.head_object(Bucket=bucket.name, Key="a.ozx")
        for name in ("ContentType", "CacheControl", "StorageClass", "ServerSideEncryption"):
            assert head[name] == kept[name]
        assert head["Metadata"]["microscope"] == "3"
        tags = bucket.client.get_object_tagging(Bucket=bucket.name, Key="a.ozx")["TagSet"]
        assert {tag["Key"]: tag["Value"] for tag in tags} == {"project": "a b", "keep": "yes"}

    @pytest.mark.ci  # needs the server of moto
    def test_public_rights_stay(self, bucket, large):  # noqa: F811
        with large.open("rb") as file:
            bucket.client.put_object(Bucket=bucket.name, Key="a.ozx", Body=file, ACL="public-read")

        def rights():
            grants = bucket.client.get_object_acl(Bucket=bucket.name, Key="a.ozx")["Grants"]
            return sorted((grant["Grantee"].get("URI", "owner"), grant["Permission"]) for grant in grants)

        before = rights()
        edit(f"{bucket.url}/a.ozx", **SIZE)
        assert rights() == before
        assert len(before) == 2

    @pytest.mark.ci  # needs the server of moto
    def test_a_locked_object_is_refused(self, bucket, large):  # noqa: F811
        bucket.client.put_bucket_versioning(Bucket=bucket.name, VersioningConfiguration={"Status": "Enabled"})
        configuration = {"ObjectLockEnabled": "Enabled"}
        bucket.client.put_object_lock_configuration(Bucket=bucket.name, ObjectLockConfiguration=configuration)
        with large.open("rb") as file:
            bucket.client.put_object(Bucket=bucket.name, Key="a.ozx", Body=file, ObjectLockLegalHoldStatus="ON")
        with pytest.raises(UnsupportedError, match=r"locked \(ON\)"):
            edit(f"{bucket.url}/a.ozx", **SIZE)

    @pytest.mark.ci  # needs the server of moto
    def test_a_bucket_with_versions(self, bucket, large):  # noqa: F811
        bucket.client.put_bucket_versioning(Bucket=bucket.name, VersioningConfiguration={"Status": "Enabled"})
        bucket.client.put_object(Bucket=bucket.name, Key="a.ozx", Body=large.read_bytes())
        result = edit(f"{bucket.url}/a.ozx", **SIZE)
        assert "the bucket keeps versions: the old file stays" in result.notes[-1]
        assert len(bucket.client.list_object_versions(Bucket=bucket.name)["Versions"]) == 2

    def test_rights_that_cannot_be_read(self, server, large, monkeypatch):
        server.put_file("a.ozx", large)
        monkeypatch.setattr(replacement, "error_code_of", lambda _: "AccessDenied")
        server.refuses = {"acl"}
        with pytest.raises(UnsupportedError, match="access rights of the object cannot be read"):
            edit("s3://b/a.ozx", **SIZE)
        assert edit("s3://b/a.ozx", **SIZE, drop_attributes=True).written


class TestFailures:
    def test_an_object_that_changes_meanwhile(self, server, large):
        server.put_file("a.ozx", large)

        def change(call):
            if call == "Create":
                server.put_file("a.ozx", large)  # with another ETag

        server.before = change
        with pytest.raises(FormatError, match="changed"):
            edit("s3://b/a.ozx", **SIZE)
        assert server.uploads == {}

    @pytest.mark.parametrize("size", ["small", "large"])
    def test_two_edits_at_the_same_time(self, server, large, tmp_path, monkeypatch, size):
        """The server ignores conditions; both have compared the ETag before either of them writes."""
        small = pack_tree(FIXTURES / "image.ome.zarr", tmp_path / "a.ozx")
        server.put_file("a.ozx", large if size == "large" else small)
        server.ignores_conditions = True
        writing, written = threading.Barrier(2), threading.Barrier(2)
        server.before = lambda call: writing.wait(30) if call in ("Complete", "PUT") else None
        monkeypatch.setattr(replacement, "sleep", lambda seconds: seconds > 0 and written.wait(30))
        edits = {"name": {"name": "Repaired"}, "size": SIZE}
        with ThreadPoolExecutor(2) as threads:
            results = {what: threads.submit(edit, "s3://b/a.ozx", **edits[what]) for what in edits}
        (lost,) = [what for what, result in results.items() if result.exception()]
        error = results.pop(lost).exception()
        assert isinstance(error, FormatError)
        assert error.rule == "zip/changed"
        (tmp_path / "b.ozx").write_bytes(content(server, "a.ozx"))
        assert (ozx.inspect(tmp_path / "b.ozx").images[0].name == "Repaired") == (lost == "size")

    def test_another_program_writes_right_after_the_edit(self, server, large, monkeypatch):
        server.put_file("a.ozx", large)
        monkeypatch.setattr(replacement, "sleep", lambda _seconds: server.put_file("a.ozx", large))
        with pytest.raises(FormatError, match="another program wrote this object at the same time"):
            edit("s3://b/a.ozx", **SIZE)

    def test_a_lost_reply(self, server, large):
        server.put_file("a.ozx", large)
        server.loses_reply_of = {"Complete"}
        assert edit("s3://b/a.ozx", **SIZE).written

    def test_a_server_without_copies(self, server, large):
        server.put_file("a.ozx", large)
        server.refuses = {"CopyPart"}
        with pytest.raises(UnsupportedError, match=r"cannot copy parts of an object, so all 22,.* bytes would be read"):
            edit("s3://b/a.ozx", **SIZE)
        assert server.uploads == {}
        assert len(server.objects["a.ozx"].runs) == 1

    def test_other_servers(self, server, large):
        server.put_file("a.ozx", large)
        with pytest.raises(
            UsageError, match=f"an edit at this URL would read and send all {large.stat().st_size:,} bytes"
        ):
            edit(f"{server.url}/b/a.ozx", **SIZE)


class TestCommand:
    def test_it_asks(self, server, large, capsys):
        server.put_file("a.ozx", large)
        assert run(["edit", "s3://b/a.ozx", "--pixel-size", "y=0.65,x=0.65"]) == 2
        err = capsys.readouterr().err
        assert "axis y  0.325 → 0.65 micrometer" in err
        assert "MiB copied by the server" in err
        assert "Give --yes" in err
        assert len(server.objects["a.ozx"].runs) == 1

    def test_yes(self, server, large, capsys):
        server.put_file("a.ozx", large)
        assert run(["edit", "s3://b/a.ozx", "--pixel-size", "y=0.65,x=0.65", "--yes", "--json"]) == 0
        answer = json.loads(capsys.readouterr().out)
        jsonschema.validate(answer, schema_of("edit"))
        assert answer["written"]
        assert answer["transfer"]["bytes_copied"] > 12 * MIB


@pytest.mark.ci
def test_a_file_of_1_tb(server, tmp_path):
    """A sparse file: the transfer is the directory twice, the head, and no more than 32 MiB (issue: huge files)."""
    path = tmp_path / "huge.ozx"
    document = json.loads((FIXTURES / "image.ome.zarr" / "zarr.json").read_bytes())
    root = json.dumps(document).encode()
    each, count = 2 * 10**9, 500
    with path.open("wb") as file:
        writer = ArchiveWriter(file.fileno())
        writer.add("zarr.json", root)
        for level in ("0", "1", "2"):
            writer.add(f"{level}/zarr.json", (FIXTURES / "image.ome.zarr" / level / "zarr.json").read_bytes())
        offset = writer.flush()
        for number in range(count):
            name = f"0/c/0/{number}"
            header = local_header(name.encode(), 0, 0, each)
            file.seek(offset)
            file.write(header)
            writer.directory.add(name.encode(), 0, 0, each, offset)
            offset += len(header) + each
        file.flush()
        writer.skip_to(offset)
        writer.finish(make_comment("0.5", json_first=True))
    size = path.stat().st_size
    assert size > 10**12
    server.put_file("huge.ozx", path)
    result = edit("s3://b/huge.ozx", **SIZE)
    assert result.written
    found = server.objects["huge.ozx"]
    assert abs(found.size - size) < 4096
    directory = 80 * count
    assert server.sent + server.received <= 2 * directory + 5 * MIB + 32 * MIB
    assert ozx.inspect("s3://b/huge.ozx").images[0].levels[0].scale[-1] == 0.65
    assert len(server.calls) < 1100
