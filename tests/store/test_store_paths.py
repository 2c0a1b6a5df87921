"""Which file a store means, and what stays as it was when that file is written anew."""

import stat
import traceback

import pytest
from hierarchies import FIXTURES
from links import make_link
from range_server import serving
from uris import ozx_uri
from zarr.core.buffer import cpu

import ozx
from ozx import OzxStore, UsageError
from ozx.store.normalised import NormalisedStore


@pytest.fixture
def image(tmp_path):
    path = tmp_path / "image.ozx"
    ozx.pack(FIXTURES / "image.ome.zarr", path, sync=False)
    return path


def add_a_file(path):
    with OzxStore(path, mode="a", sync=False) as store:
        store.set_sync("notes.txt", cpu.Buffer.from_bytes(b"seen"))


@pytest.mark.parametrize("name", ["image.ozx", "two words.ozx", "100%41.ozx", "a#b?c.ozx"])
def test_the_name_a_store_has_opens_it_again(image, name):
    store = OzxStore(image.rename(image.with_name(name)))
    assert OzxStore(str(store)).get_sync("zarr.json") == store.get_sync("zarr.json")
    assert ozx.open(f"{store}/labels/cells").path == "labels/cells"


@pytest.mark.parametrize("mode", ["r", "w", "a", "x"])
def test_a_store_has_a_name(mode):
    with pytest.raises(UsageError, match="got an empty string"):
        OzxStore("", mode)


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

    def test_groups_and_arrays(self, image):
        pytest.importorskip("obstore", reason="the extra remote is not installed")
        with serving(image.read_bytes()) as server:
            group = ozx.open(f"{server.url}?sig=SECRET")
            assert "SECRET" not in f"{group} {group['0']} {group.store_path} {group.info}"


@pytest.mark.parametrize("form", ["{uri}/labels/cells", "{path}|zip:labels/cells/"])
def test_a_store_is_a_file_and_no_node(image, form):
    with pytest.raises(UsageError, match="expected a file; got the node 'labels/cells'"):
        OzxStore(form.format(path=image, uri=ozx_uri(image)))


@pytest.mark.posix("there are no such permissions here")
def test_a_private_file_stays_private(image):
    image.chmod(0o640)
    add_a_file(image)
    assert stat.S_IMODE(image.stat().st_mode) == 0o640


def test_a_link_stays_a_link(image, tmp_path):
    link = tmp_path / "link.ozx"
    make_link(link, image)
    add_a_file(link)
    assert link.is_symlink()
    assert OzxStore(image).get_sync("notes.txt").to_bytes() == b"seen"
