"""Every verb reads from Azure and Google Cloud what it reads from the disk; tests/contracts tries the other places."""

import os
from pathlib import Path

import pytest
from hierarchies import make_image, tree
from object_stores import azure_endpoint, container, gcs_bucket, gcs_endpoint  # noqa: F401 (fixtures)

import ozx
from ozx.errors import OzxError

pytestmark = pytest.mark.ci

FILES, FOLDERS = "a.ozx", "a.ome.zarr"
# The verbs that write, and the ending of what they write.
VERBS = {
    ozx.pack: ".ozx",
    ozx.unpack: ".ome.zarr",
    ozx.repack: ".ozx",
    ozx.extract: ".ozx",
    ozx.export: ".ome.tif",
    ozx.thumbnail: ".png",
}
READING = {
    "info": lambda path: len(ozx.inspect(path).images),
    "ls": lambda path: len(list(ozx.list_entries(path))),
    "validate": lambda path: ozx.validate(path, level="data").valid,
    "ozx.open": lambda path: ozx.open(path)["0"][:].tolist(),
}


@pytest.fixture(params=["az", "gs"])
def base(request):
    """The URL of a place with a file and a directory that are in the working directory, too."""
    store = request.getfixturevalue({"az": "container", "gs": "gcs_bucket"}[request.param])
    image = make_image(FOLDERS)
    ozx.pack(image, FILES)
    store.put(FILES, Path(FILES).read_bytes())
    for key, data in tree(image).items():
        store.put(f"{FOLDERS}/{key}", data)
    return store.url


@pytest.mark.parametrize("kind", [FILES, FOLDERS])
@pytest.mark.parametrize("verb", VERBS)
def test_verbs_that_write(verb, kind, base):
    out, expected = f"out{VERBS[verb]}", f"expected{VERBS[verb]}"
    if (verb, kind) == (ozx.unpack, FOLDERS):  # a directory behind a URL is copied
        assert verb(f"{base}/{kind}", out).entries == len(tree(FOLDERS))
    elif (verb, kind) == (ozx.pack, FILES):
        with pytest.raises(OzxError, match=r"director|neither zarr\.json"):
            verb(f"{base}/{kind}", out)
        assert not os.path.lexists(out)
    else:
        for source, target in ((kind, expected), (f"{base}/{kind}", out)):
            verb(source, target)
        found, wanted = (tree(path) if os.path.isdir(path) else Path(path).read_bytes() for path in (out, expected))
        # An OME-TIFF has a new UUID each time.
        assert len(found) == len(wanted) if verb is ozx.export else found == wanted


@pytest.mark.parametrize("verb", READING)
def test_reading(verb, base):
    for kind in (FILES, FOLDERS):
        assert READING[verb](f"{base}/{kind}") == READING[verb](FILES if verb == "ozx.open" else kind)
