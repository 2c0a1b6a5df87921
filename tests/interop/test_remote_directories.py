"""Directories in buckets of a foreign S3 server: listed side by side, read, refused in plain words."""

import json
import os

import pytest
from hierarchies import FIXTURES, make_image, tree
from test_remote_servers import bucket, endpoint  # noqa: F401 (fixtures)

import ozx
from ozx.archive.remote import folder as folder_module
from ozx.archive.remote.folder import RemoteFolder
from ozx.cli.app import run
from ozx.errors import FormatError, ResourceError, UsageError

pytestmark = pytest.mark.ci


@pytest.fixture
def stored(bucket, endpoint, monkeypatch, tmp_path):  # noqa: F811
    """The URL of a bucket with the fixtures, opened by the environment alone."""
    for name, value in {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "someone",
        "AWS_SECRET_ACCESS_KEY": "something",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    for name in ("image", "plate", "legacy"):
        for key, data in tree(FIXTURES / f"{name}.ome.zarr").items():
            bucket.put(f"{name}.ome.zarr/{key}", data)
    return "s3://cells"


@pytest.mark.parametrize("name", ["image", "plate", "legacy"])
def test_pack_gives_the_same_bytes(stored, name):
    ozx.pack(f"{stored}/{name}.ome.zarr")
    ozx.pack(FIXTURES / f"{name}.ome.zarr", "local.ozx")
    with open(f"{name}.ozx", "rb") as remote, open("local.ozx", "rb") as local:
        assert remote.read() == local.read()


def test_many_objects_are_listed_side_by_side(stored, monkeypatch):
    monkeypatch.setattr(folder_module, "_PAGE", 10)
    remote = RemoteFolder(f"{stored}/plate.ome.zarr")
    expected = {key: len(data) for key, data in tree(FIXTURES / "plate.ome.zarr").items()}
    assert {found.key: found.size for found in remote.list_objects()} == expected


def test_an_archive_in_the_bucket(stored, bucket):  # noqa: F811
    ozx.pack(FIXTURES / "plate.ome.zarr", "plate.ozx")
    with open("plate.ozx", "rb") as file:
        bucket.put("plate.ozx", file.read())
    ozx.extract(f"{stored}/plate.ozx", "remote.ozx", node="B/2")
    ozx.extract("plate.ozx", "local.ozx", node="B/2")
    with open("remote.ozx", "rb") as remote, open("local.ozx", "rb") as local:
        assert remote.read() == local.read()
    ozx.unpack(f"{stored}/plate.ozx")
    assert tree("plate.ome.zarr") == tree(FIXTURES / "plate.ome.zarr")
    with pytest.raises(UsageError, match="exists already"):
        ozx.unpack(f"{stored}/plate.ome.zarr")
    ozx.unpack(f"{stored}/plate.ome.zarr", "copy.ome.zarr")
    assert tree("copy.ome.zarr") == tree("plate.ome.zarr")


def test_pixels_and_checks(stored):
    group = ozx.open(f"{stored}/image.ome.zarr")
    ozx.pack(FIXTURES / "image.ome.zarr", "local.ozx")
    assert (group["0"][:] == ozx.open("local.ozx")["0"][:]).all()
    assert sorted(name for name, _ in group.members()) == ["0", "1", "2", "labels"]
    assert ozx.validate(f"{stored}/image.ome.zarr", level="data").valid


def test_a_folder_of_several_images(stored, bucket):  # noqa: F811
    for name in ("a", "b"):
        bucket.put(f"many/{name}.ome.zarr/zarr.json", b"{}")
    with pytest.raises(FormatError, match="expected one hierarchy") as caught:
        ozx.pack(f"{stored}/many/", "a.ozx")
    given = "s3://cells/many/a.ome.zarr/ s3://cells/many/b.ome.zarr/"
    assert caught.value.hint.startswith(f"Pack each into its own file: ozx pack {given}")


def test_nothing_below_the_url(stored):
    with pytest.raises(FormatError, match="nothing below this URL"):
        ozx.pack(f"{stored}/none.ome.zarr", "a.ozx")


def test_no_such_bucket(stored):
    with pytest.raises(ResourceError, match="the bucket does not exist"):
        ozx.pack("s3://other/image.ome.zarr", "a.ozx")
    assert not os.path.exists("a.ozx")


def test_options_of_the_command(stored, endpoint, monkeypatch, capsys):  # noqa: F811
    for name in ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    options = [f"endpoint={endpoint}", "access_key_id=someone", "secret_access_key=SECRET"]
    arguments = [word for option in options for word in ("--storage-option", option)]
    assert run(["info", f"{stored}/image.ome.zarr", "--json", *arguments]) == 0
    out = capsys.readouterr()
    assert json.loads(out.out)["name"] == "Synthetic cells"
    assert run(["pack", f"{stored}/image.ome.zarr", f"{stored}/plate.ome.zarr", "--jobs", "2", *arguments]) == 0
    assert "SECRET" not in out.out + out.err + "".join(capsys.readouterr())
    # The server allows no one without credentials, which shows that none were sent.
    assert run(["info", f"{stored}/image.ome.zarr", "--anonymous", *arguments]) == 4
    assert "reading is not allowed" in capsys.readouterr().err


def test_an_aws_profile(stored, endpoint, monkeypatch, tmp_path):  # noqa: F811
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
        monkeypatch.delenv(name)
    (tmp_path / "credentials").write_text("[lab]\naws_access_key_id = someone\naws_secret_access_key = something\n")
    (tmp_path / "config").write_text("[profile lab]\nregion = us-east-1\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_PROFILE", "lab")
    assert ozx.inspect(f"{stored}/image.ome.zarr").kind == "image"
    monkeypatch.setenv("AWS_PROFILE", "other")
    with pytest.raises(ResourceError, match="profile 'other'"):
        ozx.inspect(f"{stored}/image.ome.zarr")


def test_an_object_that_is_replaced(stored, bucket, tmp_path):  # noqa: F811
    for key, data in tree(make_image(tmp_path / "made.ome.zarr")).items():
        bucket.put(f"made.ome.zarr/{key}", data)
    remote = RemoteFolder(f"{stored}/made.ome.zarr")
    mark = next(found.mark for found in remote.list_objects() if found.key == "0/c/0/0")
    bucket.put("made.ome.zarr/0/c/0/0", b"other")
    with pytest.raises(FormatError, match=r"made\.ome\.zarr/0/c/0/0: the file changed"):
        remote.read("0/c/0/0", 0, mark.size, mark)
