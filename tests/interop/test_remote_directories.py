"""Directories in buckets of a foreign S3 server: listed side by side, read, refused in plain words."""

import json

import pytest
from buckets import bucket, s3_endpoint  # noqa: F401 (fixtures)
from hierarchies import FIXTURES, tree

import ozx
from ozx.cli.app import run
from ozx.errors import ResourceError

pytestmark = pytest.mark.ci


@pytest.fixture
def stored(bucket):  # noqa: F811
    """The URL of a bucket with two fixtures, opened by the environment alone."""
    pytest.importorskip("moto", reason="moto is not installed")  # a foreign server, which asks for credentials
    for name in ("image", "plate"):
        for key, data in tree(FIXTURES / f"{name}.ome.zarr").items():
            bucket.put(f"{name}.ome.zarr/{key}", data)
    return bucket.url


def test_options_of_the_command(stored, s3_endpoint, monkeypatch, capsys):  # noqa: F811
    for name in ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    options = [f"endpoint={s3_endpoint}", "access_key_id=someone", "secret_access_key=SECRET"]
    arguments = [word for option in options for word in ("--storage-option", option)]
    assert run(["info", f"{stored}/image.ome.zarr", "--json", *arguments]) == 0
    out = capsys.readouterr()
    assert json.loads(out.out)["name"] == "Synthetic cells"
    assert run(["pack", f"{stored}/image.ome.zarr", f"{stored}/plate.ome.zarr", "--jobs", "2", *arguments]) == 0
    assert "SECRET" not in out.out + out.err + "".join(capsys.readouterr())
    # The server allows no one without credentials, which shows that none were sent.
    assert run(["info", f"{stored}/image.ome.zarr", "--anonymous", *arguments]) == 4
    assert "reading is not allowed" in capsys.readouterr().err


def test_an_aws_profile(stored, monkeypatch, tmp_path):
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
