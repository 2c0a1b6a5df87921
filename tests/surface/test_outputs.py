"""No function and no command writes to a URL: each refuses one as an output before it reads anything.

Which functions and commands write is read from their parameters, so that a new one that is missing in the tables here
fails.
"""

import inspect
from pathlib import Path

import click
import numpy as np
import pytest
from public_names import DIRECTIVES, find

import ozx
from ozx.cli.app import COMMANDS, load_command, run
from ozx.integrations.napari import write_layers

# Parameters of functions that write files, or into folders.
WRITING = {"out", "out_dir", "force", "sync"}

URLS = [
    "s3://bucket/dir/x.ozx",
    "S3://bucket/x.ozx",
    "gs://bucket/x.ozx",
    "https://user:SECRET@example.org/x.ozx?signature=SECRET",
    "file:///nowhere/x.ozx",
    "ozx:///nowhere/x.ozx",
    "simplecache::s3://bucket/x.ozx",
    " s3://bucket/x.ozx",
    Path("s3://bucket/x.ozx"),  # one slash is left of two
]

# Each is given a URL to write to, and sources that are not there: what reads first raises another error.
FUNCTIONS = {
    "pack": [lambda url: ozx.pack("missing.zarr", url)],
    "pack_many": [lambda url: ozx.pack_many(["missing.zarr"], out_dir=url)],
    "import_image": [lambda url: ozx.import_image("missing.tif", url)],
    "import_images": [lambda url: ozx.import_images(["missing.tif"], out_dir=url)],
    "write_image": [lambda url: ozx.write_image(url, np.zeros((4, 4), "uint8"))],
    "stream": [lambda url: ozx.stream(url, axes="yx", shape=(4, 4), dtype="uint8")],
    "unpack": [lambda url: ozx.unpack("missing.ozx", url)],
    "repack": [lambda url: ozx.repack("missing.ozx", url), lambda url: ozx.repack("missing.ozx", f"{url}.zarr")],
    "extract": [lambda url: ozx.extract("missing.ozx", url)],
    "export": [lambda url: ozx.export("missing.ozx", url)],
    "recover": [lambda url: ozx.recover("missing.ozx", url)],
    "thumbnail": [lambda url: ozx.thumbnail("missing.ozx", f"{url}.png")],
    "OzxStore": [lambda url, mode=mode: ozx.OzxStore(url, mode) for mode in ("w", "x", "a")],
    "open": [lambda url, mode=mode: ozx.open(url, mode) for mode in ("w", "x", "a")],
    "integrations.napari.write_layers": [lambda url: write_layers(url, [])],
}
# They write to s3://: tests/operations/test_uploads.py, tests/store/test_remote_writing.py.
UPLOADING = FUNCTIONS.keys() - {"stream", "recover", "integrations.napari.write_layers"}
# They write where they read, and take what names a file for reading; a remote one they refuse.
IN_PLACE = {"edit", "add_labels", "remove_labels"}

SOURCES = {"pack": "missing.zarr", "import": "missing.tif"}
MANY = ("pack", "import", "unpack", "repack", "export", "recover", "thumbnail")
COMMAND_LINES = {
    **{(name, "out_dir"): [[SOURCES.get(name, "missing.ozx"), "--out-dir", "URL"]] for name in MANY},
    **{(name, "log"): [[SOURCES.get(name, "missing.ozx"), "x.ozx", "--log", "URL"]] for name in MANY},
    **{(name, "log"): [["missing.ozx", "--log", "URL"]] for name in ("validate", "verify", "edit")},
    ("pack", "arguments"): [["missing.zarr", "URL"], ["missing.zarr", "--out-dir", "URL", "--remove-source"]],
    ("import", "arguments"): [["missing.tif", "URL"], ["missing.tif", "b.tif", "URL"]],
    ("validate", "report"): [["missing.ozx", "--report", "URL"]],
    ("unpack", "arguments"): [["missing.ozx", "URL"]],
    ("repack", "arguments"): [["missing.ozx", "URL"], ["missing.ozx", "URL/"]],
    ("extract", "out"): [["missing.ozx", "URL"]],
    ("stream", "out"): [["URL", "--stdin", "--axes", "yx", "--shape", "4,4", "--dtype", "uint8"]],
    ("export", "arguments"): [["missing.ozx", "URL"]],
    ("recover", "arguments"): [["missing.ozx", "URL"]],
    ("thumbnail", "arguments"): [["missing.ozx", "URL.png"]],
}
# What commands only read, by the names of their parameters.
READ = {"file", "files", "path", "paths", "source", "broken", "key", "identifier", "action", "retry_failed", "folder"}
READ |= {"url", "topic"}
# `edit` writes where it reads, also at s3://.
READ_OR_EDITED = {("verify", "arguments"), ("verify", "manifest"), ("edit", "arguments")}


def public_writers():
    """Return the public functions, and the store, that have a parameter of those that write."""
    for name in DIRECTIVES:
        public = find(name)
        is_called = inspect.isfunction(public) or public is ozx.OzxStore
        if is_called and ("write" in name or WRITING & set(inspect.signature(public).parameters)):
            yield name.removeprefix("ozx.")


def test_every_function_that_writes_is_tried():
    assert set(public_writers()) == set(FUNCTIONS) | IN_PLACE


def test_every_parameter_of_a_command_that_is_a_path_is_tried_or_only_read():
    found = set()
    for name in COMMANDS:
        for parameter in load_command(name).params:
            is_path = isinstance(parameter.type, click.Path) or isinstance(parameter, click.Argument)
            is_read = parameter.name in READ or (name, parameter.name) in READ_OR_EDITED
            if is_path and not is_read:
                found.add((name, parameter.name))
    assert found == set(COMMAND_LINES)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty working directory, where a folder called ``s3:`` would show."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "url"),
    [
        (name, url)
        for name in sorted(FUNCTIONS)
        for url in URLS
        if not (name in UPLOADING and isinstance(url, str) and url.lower().startswith("s3://"))
    ],
)
def test_a_function_refuses_a_url_before_it_reads(name, url, folder):
    for call in FUNCTIONS[name]:
        with pytest.raises((ozx.UsageError, ozx.UnsupportedError), match=r"on this computer.*; found a URL") as caught:
            call(url)
        assert caught.value.hint
        assert "SECRET" not in f"{caught.value} {caught.value.hint}"
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("url", ["hdfs://host/dir", "https://example.org/x"])
@pytest.mark.parametrize(("name", "parameter"), sorted(COMMAND_LINES))
def test_a_command_refuses_a_url_before_it_reads(name, parameter, url, folder, capsys):
    for arguments in COMMAND_LINES[name, parameter]:
        assert run([name, *(argument.replace("URL", url) for argument in arguments)]) == 2
        told = capsys.readouterr()
        assert "found a URL" in told.err
        assert "Traceback" not in told.err
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("url", "program"),
    [
        ("gs://bucket/x.ozx", "gcloud storage cp"),
        ("AZ://c/x.ozx", "azcopy copy"),
        ("abfss://c@a.dfs.core.windows.net/x.ozx", "azcopy copy"),
    ],
)
def test_a_store_that_is_only_read_names_the_program_that_copies(url, program, folder, capsys):
    calls = [call for name in sorted(UPLOADING | {"stream", "recover"}) for call in FUNCTIONS[name]]
    calls += [
        lambda url: ozx.edit(url, name="Cells"),
        lambda url: ozx.stream("x.ozx", axes="yx", shape=(4, 4), dtype="uint8", upload_to=url),
    ]
    for call in calls:
        with pytest.raises(ozx.UsageError) as caught:
            call(url)
        assert program in caught.value.hint
    assert run(["unpack", "a.ozx", "b.ozx", "--out-dir", url]) == 2
    assert program in capsys.readouterr().err
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("path", ["http://127.0.0.1:9/x.ozx"])
def test_a_file_is_not_edited_at_a_url(path):
    with pytest.raises(ozx.UsageError, match="an edit at this URL would read and send"):
        ozx.edit(path, name="Cells")


@pytest.mark.parametrize("name", ["a:b.ozx", "a:/b.ozx", "c::d.ozx", "a//b.ozx", "s3:/x.ozx", "./s3:/x.ozx"])
def test_a_name_with_a_colon_is_a_file(name, folder):
    for made in ("a:", "a", "s3:"):
        (folder / made).mkdir()
    ozx.write_image(name, np.zeros((4, 4), "uint8"), sync=False)
    assert (folder / name).is_file()
