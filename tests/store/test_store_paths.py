"""Which file a store means, and what stays as it was when that file is written anew."""

import traceback

import pytest
from hierarchies import FIXTURES
from uris import ozx_uri

import ozx
from ozx import OzxStore, UsageError
from ozx.store.normalised import NormalisedStore


@pytest.fixture
def image(tmp_path):
    path = tmp_path / "image.ozx"
    ozx.pack(FIXTURES / "image.ome.zarr", path, sync=False)
    return path


class TestSignedUrls:
    """What a store says of itself holds no query: in that of a signed URL stands a key."""

    URL = "https://user:SECRET@example.org/a.ozx?X-Amz-Signature=SECRET"

    def test_text(self):
        store = OzxStore(self.URL)
        assert store.path == self.URL
        assert str(store) == "https://example.org/a.ozx"
        assert repr(store) == "OzxStore('https://example.org/a.ozx', mode='r')"
        assert "SECRET" not in repr(NormalisedStore(store)) + str(NormalisedStore(store))

    @pytest.mark.parametrize(
        "use",
        [
            lambda url: OzxStore(url, "w"),
            lambda url: OzxStore(url).with_read_only(read_only=False),
            lambda url: OzxStore(url)._writer(),
            lambda url: OzxStore(url).delete_sync("zarr.json"),
        ],
    )
    def test_errors(self, use):
        with pytest.raises((UsageError, ValueError), match=r"read|found a URL") as caught:
            use(self.URL)
        assert "SECRET" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("form", ["{uri}/labels/cells", "{path}|zip:labels/cells/"])
def test_a_store_is_a_file_and_no_node(image, form):
    with pytest.raises(UsageError, match="expected a file; got the node 'labels/cells'"):
        OzxStore(form.format(path=image, uri=ozx_uri(image)))
