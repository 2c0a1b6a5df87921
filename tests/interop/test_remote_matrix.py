"""Every verb, from every kind of source, to every kind of sink.

Each result is compared with that of local files; each refused cell is tried as well.
"""

import os
from pathlib import Path

import pytest
from buckets import bucket, s3_endpoint  # noqa: F401 (fixtures)
from hierarchies import make_image, tree
from object_stores import azure_endpoint, container, gcs_bucket, gcs_endpoint  # noqa: F401 (fixtures)
from servers import serving, serving_folder

import ozx
from ozx.errors import OzxError, UsageError

pytestmark = pytest.mark.ci

FILES, FOLDERS = "a.ozx", "a.ome.zarr"
PLACES = ("local", "s3", "az", "gs", "http")
ONLY_READ = ("az", "gs", "http")
# The verbs that write, the ending of what they write, and the sources that they refuse.
VERBS = {
    "pack": (ozx.pack, ".ozx", FILES),
    "unpack": (ozx.unpack, ".ome.zarr", FOLDERS),
    "repack": (ozx.repack, ".ozx", ""),
    "extract": (ozx.extract, ".ozx", ""),
    "export": (ozx.export, ".ome.tif", ""),
    "thumbnail": (ozx.thumbnail, ".png", ""),
    "import": (ozx.import_image, ".ozx", ""),
}
READING = {
    "info": lambda path: len(ozx.inspect(path).images),
    "ls": lambda path: len(list(ozx.list_entries(path))),
    "validate": lambda path: ozx.validate(path, level="data").valid,
    "ozx.open": lambda path: ozx.open(path)["0"][:].tolist(),
}


@pytest.fixture
def places(bucket, container, gcs_bucket):  # noqa: F811
    """The base of each kind of place, with the same file and directory in each; the folder is the working directory."""
    image = make_image(FOLDERS)
    ozx.pack(image, FILES)
    ozx.export(FILES, "a.ome.tif")
    stores = {"s3": bucket, "az": container, "gs": gcs_bucket}
    for store in stores.values():
        store.put(FILES, Path(FILES).read_bytes())
        for key, data in tree(image).items():
            store.put(f"{FOLDERS}/{key}", data)
    with serving_folder(Path.cwd()) as folders, serving(Path(FILES).read_bytes()) as files:
        http = {FOLDERS: folders.url, FILES: files.url.rpartition("/")[0]}
        yield {"local": ".", "http": http, **{name: store.url for name, store in stores.items()}}, stores


def at(bases, place, kind):
    base = bases[place]
    return f"{base[kind] if isinstance(base, dict) else base}/{kind}"


def written(path, place, stores):
    if place == "local":
        return tree(path) if os.path.isdir(path) else Path(path).read_bytes()
    store, key = stores[place], path.partition("://")[2].partition("/")[2]
    below = {name.removeprefix(f"{key}/"): store.get(name) for name in store.keys() if name.startswith(f"{key}/")}  # noqa: SIM118
    return below or store.get(key)


@pytest.mark.parametrize("source", PLACES)
@pytest.mark.parametrize("kind", [FILES, FOLDERS])
@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "import"])
def test_sources_and_sinks(verb, kind, source, places):
    bases, stores = places
    call, ending, refused = VERBS[verb]
    path = at(bases, source, kind)
    if kind == refused and verb == "unpack" and source != "local":  # a directory behind a URL is copied
        assert call(path, f"out{ending}").entries == len(tree(FOLDERS))
        return
    if kind == refused:
        with pytest.raises(OzxError, match=r"director|\.ozx file|neither zarr\.json"):
            call(path, f"out{ending}")
        assert not os.path.lexists(f"out{ending}")
        return
    call(kind, f"expected{ending}")
    expected = written(f"expected{ending}", "local", stores)
    for sink in PLACES:
        out = f"{bases[sink]}/out{ending}" if sink != "http" else f"{bases['http'][FILES]}/out{ending}"
        if sink in ONLY_READ:
            with pytest.raises(UsageError, match="found a URL that ozx only reads"):
                call(path, out)
            continue
        call(path, out)
        found = written(out, sink, stores)
        # An OME-TIFF has a new UUID each time.
        assert len(found) == len(expected) if verb == "export" else found == expected


@pytest.mark.parametrize("sink", PLACES)
def test_import(sink, places):
    bases, stores = places
    out = f"{bases[sink]}/out.ozx" if sink != "http" else "http://127.0.0.1/out.ozx"
    if sink in ONLY_READ:
        with pytest.raises(UsageError, match="found a URL that ozx only reads"):
            ozx.import_image("a.ome.tif", out)
        return
    ozx.import_image("a.ome.tif", out)
    ozx.import_image("a.ome.tif", "expected.ozx")
    assert written(out, sink, stores) == Path("expected.ozx").read_bytes()


@pytest.mark.parametrize("source", PLACES)
@pytest.mark.parametrize("verb", READING)
def test_reading(verb, source, places):
    bases, _ = places
    for kind in (FILES, FOLDERS):
        if verb == "ozx.open" and source == "local" and kind == FOLDERS:
            continue  # zarr itself opens it
        found = READING[verb](at(bases, source, kind))
        if verb == "ls" and source == "http" and kind == FOLDERS:
            assert found == 2  # without chunks
        else:
            assert found == READING[verb](FILES if verb == "ozx.open" else kind)
