"""`ozx.open` with live=True: a group that shows what was complete at the last refresh."""

import os

import numpy as np
import pytest
import zarr
from growing import PIXELS, growing

import ozx
from ozx.errors import PartialFileWarning, ResourceError
from ozx.store.live.group import LiveGroup

pytestmark = pytest.mark.posix("needs file locks")


@pytest.fixture
def out(tmp_path):
    return tmp_path / "a.ozx"


@pytest.mark.parametrize("ending", ["", ".partial"])
def test_a_stream_from_its_first_frame_to_its_end(out, ending):
    with growing(out) as append:
        append(1)
        with pytest.raises(ResourceError, match="no frame is complete yet"):
            ozx.open(f"{out}{ending}", live=True)
        append(2)
        group = ozx.open(f"{out}{ending}", live=True)
        assert isinstance(group, LiveGroup)
        early = group["0"]
        assert early.shape == (2, 2, 40, 500)
        append(3)
        assert group["0"].shape == (2, 2, 40, 500)  # until the refresh
        assert group.refresh()
        assert not group.refresh()
        assert (group.state, group.is_finished) == ("growing", False)
        assert [group[level].shape[0] for level in group] == [6, 6]
        np.testing.assert_array_equal(group["0"][...], PIXELS[:6])
        np.testing.assert_array_equal(early[...], PIXELS[:2])
        append(1)
        append.stream.close()
        np.testing.assert_array_equal(group["0"][...], PIXELS[:6])
        assert group.refresh()
        assert group.is_finished
        np.testing.assert_array_equal(group["0"][...], PIXELS)
        np.testing.assert_array_equal(early[...], PIXELS[:2])
        assert not group.refresh()
    assert os.listdir(out.parent) == ["a.ozx"]
    np.testing.assert_array_equal(ozx.open(out, live=True)["0"][...], PIXELS)


def test_levels_and_metadata_equal_those_of_the_finished_file(out):
    with growing(out, channel_names=["DAPI", "GFP"]) as append:
        append(6)
        group = ozx.open(out, live=True)
        found = [group[level][...] for level in group]
        attributes = group.attrs.asdict()
        append.stream.close()
    whole = ozx.open(out)
    for pixels, level in zip(found, whole, strict=True):
        np.testing.assert_array_equal(pixels, whole[level][...])
    assert attributes["ome"]["multiscales"] == whole.attrs["ome"]["multiscales"]
    assert group.refresh()
    assert group.attrs.asdict() == whole.attrs.asdict()


def test_positions_appear_one_by_one(out):
    with growing(out, positions=["left", "right"]) as append:
        append(2, position="right")
        group = ozx.open(out, live=True)
        images = [name for name in group if name != "OME"]
        assert images == ["1"]
        assert ozx.open(f"{out}|zip:1/", live=True)["0"].shape[0] == 2
        append(2, position="left")
        assert group.refresh()
        assert sorted(name for name in group if name != "OME") == ["0", "1"]


def test_frames_behind_a_missing_one_come_with_it(out):
    """Pixels of frames that are still to come are no zeros for a reader: the image ends before them."""
    with growing(out) as append:
        stream = append.stream
        for t in (0, 1, 4, 5, 3):
            for c in range(2):
                stream.write(PIXELS[t, c], (t, c))
        stream.flush()
        group = ozx.open(out, live=True)
        assert group["0"].shape[0] == 2
        for c in range(2):
            stream.write(PIXELS[2, c], (2, c))
        stream.flush()
        assert group.refresh()
        np.testing.assert_array_equal(group["0"][...], PIXELS[:6])


def test_an_aborted_stream(out):
    with growing(out) as append:
        append(2)
        group = ozx.open(out, live=True)
        append.stream.abort()
        assert group.refresh()
        assert group.state == "removed"
        np.testing.assert_array_equal(group["0"][...], PIXELS[:2])
        assert not group.refresh()
    with pytest.raises(ResourceError, match="no such file"):
        ozx.open(out, live=True)


def test_an_exception_leaves_an_unfinished_file(out):
    with pytest.raises(ZeroDivisionError), growing(out) as append, append.stream:
        append(2)
        group = ozx.open(out, live=True)
        1 / 0  # noqa: B018
    with pytest.warns(PartialFileWarning, match=r"ozx recover .*a\.ozx\.partial OUT\.ozx"):
        assert group.refresh()
    assert group.state == "unfinished"
    assert not group.refresh()


def test_the_old_file_is_there_until_the_new_one_has_frames(out):
    ozx.write_image(out, PIXELS[:3], axes="tcyx")
    with growing(out, force=True) as append:
        append(4)
        assert ozx.open(out)["0"].shape[0] == 3
        group = ozx.open(out, live=True)
        assert group["0"].shape[0] == 4
        append(3)
        append.stream.close()
    assert group.refresh()
    assert group.is_finished
    np.testing.assert_array_equal(group["0"][...], PIXELS)


def test_stores(out):
    with growing(out) as append:
        append(2)
        store = ozx.OzxStore(out, live=True)
        assert (store.state, store.refresh()) == ("growing", False)
        assert zarr.open_group(store, mode="r")["0"].shape[0] == 2
        append(2)
        assert store.refresh()
        assert zarr.open_group(store, mode="r")["0"].shape[0] == 4
        append.stream.close()
        assert store.refresh()
        assert store.state == "finished"
    store = ozx.OzxStore(out)
    assert (store.state, store.refresh()) == ("finished", False)
