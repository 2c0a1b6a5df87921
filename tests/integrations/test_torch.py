"""Crops for training are the pixels of their images, the same in every process; loaders of PyTorch survive kills."""

import importlib
import itertools
import os
import pickle
import signal
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import zarr
from buckets import bucket, s3_endpoint  # noqa: F401 (fixtures)
from children import run_in_child
from hierarchies import FIXTURES
from packed import pack_tree
from servers import asked_range, serving

import ozx
from ozx.torch import CropDataset, CropStream

NAMES = ("image", "plate", "series", "sharded")
SIDE = 512  # pixels of the image of `large`, in shards of SHARD and chunks of 32
SHARD = 128


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("torch")
    for name in NAMES:
        pack_tree(FIXTURES / f"{name}.ome.zarr", folder / f"{name}.ozx")
    return folder


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Random pixels in shards, beside a label image whose only objects are two points far from each other."""
    path = tmp_path_factory.mktemp("large") / "large.ozx"
    pixels = np.random.default_rng(0).integers(1, 60_000, (3, SIDE, SIDE), "uint16")
    points = np.zeros((SIDE, SIDE), "uint8")
    points[100, 160], points[400, 300] = 1, 2
    layout = {"chunks": {"y": 32, "x": 32}, "shards": {"y": SHARD, "x": SHARD}, "codec": "none"}
    words = {"axes": "cyx", "channel_names": ["a", "b", "c"], "labels": {"points": points}}
    ozx.write_image(path, pixels, **words, **layout, sync=False)
    return path


def expected(crop, channels=None, label=None):
    """Return the pixels at a place by zarr-python, which reads the unpacked directory."""
    root = zarr.open_group(FIXTURES / os.path.basename(crop.path).replace(".ozx", ".ome.zarr"), mode="r")
    node = root[crop.node] if crop.node else root
    names = [axis["name"] for axis in node.attrs["ome"]["multiscales"][0]["axes"]]
    if label is not None:
        node = node[f"labels/{label}"]
        names = [axis["name"] for axis in node.attrs["ome"]["multiscales"][0]["axes"]]
    pixels = node[str(crop.level)][...]
    pixels = pixels[tuple(slice(*crop.region[name]) if name != "c" else slice(None) for name in names)]
    kept = [at for at, name in enumerate(names) if name in "yx" or (name == "c" and label is None)]
    pixels = pixels.reshape([pixels.shape[at] for at in kept])
    return pixels if channels is None else pixels[channels]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("form", ["ozx", "ome.zarr"])
def test_a_crop_has_the_pixels_at_its_place(files, name, form):
    path = files / f"{name}.ozx" if form == "ozx" else FIXTURES / f"{name}.ome.zarr"
    dataset = CropDataset(path, (20, 30), crops=40)
    for number in range(0, 40, 5):
        np.testing.assert_array_equal(np.asarray(dataset[number]), expected(dataset.crop(number)))
    assert len({repr(dataset.crop(number)) for number in range(40)}) > 30
    if name == "plate":
        assert len({dataset.crop(number).node for number in range(40)}) == 6
    if name == "sharded":
        assert {dataset.crop(number).region["t"] for number in range(40)} == {(0, 1), (1, 2), (2, 3)}


def test_crops_have_planes_levels_channels_and_labels_as_wanted(files):
    volume = CropDataset(files / "sharded.ozx", (3, 20, 30), level=1)
    assert volume[0].shape == (2, 3, 20, 30)
    size = volume.crop(0)
    assert size.level == 1
    image = ozx.open_image(files / "image.ozx")
    dataset = CropDataset(files / "image.ozx", 40, channels=["Cytoplasm", "Nuclei"], labels="cells")
    coarse = CropDataset(files / "image.ozx", 40, pixel_size=2 * image.scale[-1], labels=["cells"])
    for each, channels in ((dataset, [1, 0]), (coarse, None)):
        pixels, cells = each[3]
        np.testing.assert_array_equal(np.asarray(pixels), expected(each.crop(3), channels))
        np.testing.assert_array_equal(np.asarray(cells), expected(each.crop(3), label="cells"))
    assert coarse.crop(3).level == 1
    assert CropDataset(files / "image.ozx", 40, channels="Nuclei")[0].shape == (1, 40, 40)


def test_places_follow_from_seed_epoch_and_number(files):
    one, same, other = (CropDataset(files / "image.ozx", 16, seed=seed, crops=50) for seed in (5, 5, 6))
    places = [one.crop(number) for number in range(50)]
    assert [same.crop(number) for number in reversed(range(50))] == places[::-1]
    assert one.crop(-1) == places[-1]
    same.set_epoch(3)
    for differing in (other, same):
        assert sum(differing.crop(number) == places[number] for number in range(50)) < 5
    # They are never to change: a training of today goes on tomorrow.
    assert places[0].region == {"y": (50, 66), "x": (106, 122)}
    with pytest.raises(IndexError):
        one[50]


def test_every_place_is_drawn(files):
    dataset = CropDataset(files / "image.ozx", (254, 255), crops=300)
    counts = Counter(tuple(start for start, _ in dataset.crop(number).region.values()) for number in range(300))
    assert set(counts) == {(y, x) for y in range(3) for x in range(2)}
    assert min(counts.values()) > 25


def test_forked_and_pickled_datasets_and_threads_make_the_same_crops(files):
    dataset = CropDataset([files / "plate.ozx", files / "image.ozx"], 32, crops=64, seed=2)
    wanted = [np.asarray(dataset[number]) for number in range(64)]

    def check(other):
        for number, pixels in enumerate(wanted):
            np.testing.assert_array_equal(np.asarray(other[number]), pixels)

    if hasattr(os, "fork"):
        assert run_in_child(lambda: check(dataset)) == 0
    check(pickle.loads(pickle.dumps(dataset)))
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(check, [dataset] * 8))


def test_dense_crops_of_a_batch_are_those_that_are_read_alone(large):
    dataset = CropDataset(large, 300, crops=12, channels=[2, 0])
    for number, pixels in enumerate(dataset.__getitems__(range(12))):
        np.testing.assert_array_equal(np.asarray(pixels), np.asarray(dataset[number]))


def test_the_centre_of_a_crop_lies_in_the_mask(large):
    dataset = CropDataset(large, (64, 128), labels="points", where="points", crops=20)
    centres = Counter(int(dataset[number][1][32, 64]) for number in range(20))
    assert set(centres) == {1, 2}
    stream = CropStream(dataset)
    assert {int(points[32, 64]) for _, points in stream} == {1, 2}


def test_a_crop_is_as_bright_as_wanted(tmp_path):
    pixels = np.zeros((1, 512, 512), "uint16")
    pixels[0, 256:, :256] = 1000
    ozx.write_image(tmp_path / "a.ozx", pixels, axes="cyx", sync=False)
    dataset = CropDataset(tmp_path / "a.ozx", 64, where=np.float32(900), crops=30)
    assert min(float(np.asarray(dataset[number]).mean()) for number in range(30)) > 850
    with pytest.raises(ozx.UsageError, match="no crop with a mean of at least 1001 was found in 1,000 trials"):
        CropDataset(tmp_path / "a.ozx", 64, where=1001)[0]


def test_files_come_from_patterns_and_lists_in_the_order_of_their_names(files, monkeypatch):
    monkeypatch.chdir(files)
    by_pattern = CropDataset("[ip]*.ozx", 16, crops=30)
    by_list = CropDataset([files / "image.ozx", "plate.ozx"], 16, crops=30)
    for number in range(30):
        assert by_pattern.crop(number).region == by_list.crop(number).region
    assert {by_pattern.crop(number).path for number in range(30)} == {"image.ozx", "plate.ozx"}
    assert CropDataset("plate.ozx/B/2/1", 16).crop(0).node == ""
    deep = CropDataset("**/[ip]*.ozx", 16, crops=30)  # in folders of any depth, also of none
    assert [deep.crop(number) for number in range(30)] == [by_pattern.crop(number) for number in range(30)]


def test_a_bucket_is_read_by_pattern_and_url(files, bucket):  # noqa: F811
    for name in ("image", "plate"):
        bucket.put(f"train/{name}.ozx", (files / f"{name}.ozx").read_bytes())
    bucket.put("train/deeper/x.ozx", b"")
    far = CropDataset(f"{bucket.url}/train/*.ozx", 16, crops=30)
    near = CropDataset([files / "image.ozx", files / "plate.ozx"], 16, crops=30)
    for one, other in zip(far.__getitems__(range(30)), near.__getitems__(range(30)), strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))
    with pytest.raises(ozx.UsageError, match="no file matches"):
        CropDataset(f"{bucket.url}/train/*.zip", 16)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"size": 300}, r"image\.ozx: the image has 256 × 256 pixels, fewer than a crop: 300 × 300"),
        ({"size": (2, 8, 8)}, r"image\.ozx: expected the axes z, y, x"),
        ({"size": (8,)}, r"expected a size \(y, x\) or \(z, y, x\); got \(8,\)"),
        ({"size": (8, 0)}, "expected a length of crops as a whole number, at least 1; got 0"),
        ({"labels": "nuclei"}, r"image\.ozx: there is no label image 'nuclei'; its label images: cells"),
        ({"where": "nuclei"}, "there is no label image 'nuclei'"),
        ({"channels": "DAPI"}, r"image\.ozx: .*DAPI"),
        ({"level": 7}, "expected a level from 0 to 2; got 7"),
        ({"seed": -1}, "expected seed as a whole number, at least 0, at most 18446744073709551615; got -1"),
        ({"crops": 0}, "expected a number of crops as a whole number, at least 1; got 0"),
        ({"sources": "x*.ozx"}, r"no file matches x\*\.ozx"),
        ({"sources": []}, "expected at least one file; got none"),
        ({"sources": 5}, "expected a path, a pattern or a list of them; got 5"),
        ({"labels": 5}, "expected names of label images; got 5"),
        ({"labels": ["cells", 5]}, r"expected names of label images; got \['cells', 5\]"),
        ({"where": True}, "expected where= as the name of a label image or a finite number; got True"),
        ({"where": float("nan")}, "expected where= as the name of a label image or a finite number; got nan"),
        ({"where": np.float32("inf")}, "expected where= as the name of a label image or a finite number; got .*inf"),
        ({"where": 1j}, "expected where= as the name of a label image or a finite number; got 1j"),
        ({"sources": "http://127.0.0.1:9/*.ozx"}, "only the last name of a URL in a bucket may be a pattern"),
    ],
)
def test_what_cannot_be_is_said_in_words(files, monkeypatch, change, message):
    monkeypatch.chdir(files)
    with pytest.raises(ozx.UsageError, match=message):
        CropDataset(**{"sources": "image.ozx", "size": 16, **change})


def test_a_missing_file_is_one(files):
    with pytest.raises(FileNotFoundError, match=r"absent\.ozx"):
        CropDataset([files / "image.ozx", files / "absent.ozx"], 16)


def test_a_file_that_vanished_is_named_with_what_to_do(files, tmp_path):
    (tmp_path / "gone.ozx").write_bytes((files / "image.ozx").read_bytes())
    dataset = pickle.loads(pickle.dumps(CropDataset(tmp_path / "gone.ozx", 16)))  # it has opened no file yet
    (tmp_path / "gone.ozx").unlink()
    for use in (lambda: dataset[0], lambda: dataset.crop(0), lambda: next(iter(CropStream(dataset)))):
        with pytest.raises(FileNotFoundError, match=r"gone\.ozx: the file is missing") as caught:
            use()
        assert isinstance(caught.value, ozx.ResourceError)
        assert "make the dataset anew without it" in caught.value.hint


@pytest.mark.parametrize("axes", ["yx", "zyx"])
def test_a_mask_of_one_plane_holds_for_all_planes_of_a_crop(tmp_path, axes):
    pixels = np.random.default_rng(0).integers(0, 99, (6, 64, 64), "uint16")
    mask = np.zeros((64, 64), "uint8")
    mask[20, 30] = 1
    ozx.write_image(tmp_path / "a.ozx", pixels, axes="zyx", sync=False)
    ozx.add_labels(tmp_path / "a.ozx", "spot", mask.reshape((1,) * (len(axes) - 2) + mask.shape), axes=axes, sync=False)
    dataset = CropDataset(tmp_path / "a.ozx", (3, 8, 8), labels="spot", where="spot", crops=40)
    for number in range(40):
        region, (image, spot) = dataset.crop(number).region, dataset[number]
        place = tuple(slice(*region[axis]) for axis in "zyx")
        np.testing.assert_array_equal(np.asarray(image)[0], pixels[place])
        np.testing.assert_array_equal(np.asarray(spot), np.broadcast_to(mask, pixels.shape)[place])
        assert (np.asarray(spot)[:, 4, 4] == 1).all()
    assert {dataset.crop(number).region["z"][0] for number in range(40)} == {0, 1, 2, 3}


def test_a_label_that_is_too_rare_is_said_with_what_to_do(tmp_path):
    labels = {"none": np.zeros((64, 64), "uint8")}
    ozx.write_image(tmp_path / "a.ozx", np.ones((64, 64), "uint8"), labels=labels, sync=False)
    with pytest.raises(ozx.UsageError, match="centre lies in 'none' was found in 1,000 trials") as caught:
        CropDataset(tmp_path / "a.ozx", 16, where="none")[0]
    assert "It is rare: give larger crops" in caught.value.hint


def test_a_damaged_chunk_names_its_file(large, tmp_path):
    data = bytearray(large.read_bytes())
    data[len(data) // 3 : len(data) // 2] = bytes(len(data) // 2 - len(data) // 3)
    (tmp_path / "damaged.ozx").write_bytes(data)
    dataset = CropDataset(tmp_path / "damaged.ozx", 256)
    with pytest.raises(ozx.FormatError, match=r"damaged\.ozx"):
        dataset.__getitems__(range(20))


def test_an_error_does_not_show_the_signature_of_a_url(files):
    data = (files / "image.ozx").read_bytes()
    with serving(data) as server, pytest.raises(ozx.UsageError, match="fewer than a crop") as caught:
        CropDataset(f"{server.url}?signature=secret", 5000)
    assert "secret" not in str(caught.value)


def test_a_training_goes_on_in_the_middle_of_an_epoch(files):
    dataset = CropDataset(files / "image.ozx", 16, crops=20)
    dataset.set_epoch(4)
    wanted = [dataset.crop(number) for number in range(20)]
    state = pickle.loads(pickle.dumps(dataset.state_dict(12)))
    fresh = CropDataset(files / "image.ozx", 16, crops=20)
    fresh.load_state_dict(state)
    assert len(fresh) == 8
    assert [fresh.crop(number) for number in range(8)] == wanted[12:]
    assert fresh.state_dict(3)["used"] == 15
    fresh.load_state_dict(dataset.state_dict(3 * 8))  # the last batch was short
    assert len(fresh) == 0
    fresh.set_epoch(5)
    assert len(fresh) == 20
    with pytest.raises(ozx.UsageError, match="expected the state of a dataset with"):
        CropDataset(files / "image.ozx", 16, crops=20, seed=1).load_state_dict(state)
    # The last batch of an epoch has fewer crops than the others.
    state = dataset.state_dict(3 * 8)
    assert state["used"] == 20
    fresh.load_state_dict({**state, "used": 24})
    assert len(fresh) == 0
    for used in (-1, 2.5):
        with pytest.raises(ozx.UsageError, match="expected a number of used crops as a whole number, at least 0; got"):
            dataset.state_dict(used)


@pytest.mark.parametrize(
    "state", [None, {"seed": 0, "crops": 20}, {"seed": 0, "crops": 20, "epoch": 0, "used": -1}, {"used": "3"}]
)
@pytest.mark.parametrize("kind", [lambda dataset: dataset, CropStream])
def test_what_is_no_state_is_refused_and_changes_nothing(files, kind, state):
    dataset = CropDataset(files / "image.ozx", 16, crops=20)
    dataset.set_epoch(2)
    fresh = kind(dataset)
    given = state and {**fresh.state_dict(), "epoch": 5, **state}
    if given and state.keys() == {"seed", "crops"}:
        del given["epoch"]
    with pytest.raises(ozx.UsageError, match="expected "):
        fresh.load_state_dict(given)
    assert (dataset.epoch, len(dataset)) == (2, 20)


def digests(samples):
    return [np.asarray(pixels).tobytes() for pixels in samples]


@pytest.mark.parametrize("crops", [5, 100])  # fewer, and more than shards
def test_a_stream_makes_the_same_crops_for_any_number_of_ranks(large, crops):
    dataset = CropDataset(large, 32, crops=crops, seed=3)
    whole = digests(CropStream(dataset))
    assert len(set(whole)) == crops
    parts = [CropStream(dataset, rank, 4) for rank in range(4)]
    assert {len(part) for part in parts} == {crops // 4}
    assert len(set(whole).intersection(itertools.chain(*map(digests, parts)))) == 4 * (crops // 4)
    assert digests(CropStream(dataset)) == whole
    dataset.set_epoch(1)
    assert not set(whole) & set(digests(CropStream(dataset)))


def test_a_stream_goes_on_after_its_last_crop(large):
    stream = CropStream(CropDataset(large, 32, crops=50))
    stream.set_epoch(2)
    whole = digests(stream)
    for used in (0, 1, 17, 49, 50):
        broken = CropStream(CropDataset(large, 32, crops=50))
        broken.set_epoch(2)
        for _ in zip(range(used), broken, strict=False):
            pass
        state = broken.state_dict()
        assert state["used"] == used
        fresh = CropStream(CropDataset(large, 32, crops=50))
        fresh.load_state_dict(state)
        assert digests(fresh) == whole[used:]
        assert digests(fresh) == whole  # the next epoch begins at its beginning
    with pytest.raises(ozx.UsageError, match="expected the state of"):
        CropStream(CropDataset(large, 32, crops=50), 1, 2).load_state_dict(state)
    with pytest.raises(ozx.UsageError, match="expected a number of ranks as a whole number, at least 1, at most 50"):
        CropStream(CropDataset(large, 32, crops=50), 0, 51)


@pytest.mark.parametrize("begin", [CropStream.set_epoch, lambda stream, epoch: stream.dataset.set_epoch(epoch)])
def test_the_state_of_a_stream_counts_the_crops_of_its_epoch(large, begin):
    stream, fresh = (CropStream(CropDataset(large, 32, crops=50)) for _ in range(2))
    digests(stream)
    begin(stream, 1)
    state = stream.state_dict()
    assert (state["epoch"], state["used"]) == (1, 0)
    next(iter(stream))
    fresh.load_state_dict(stream.state_dict())
    assert fresh.state_dict() == stream.state_dict()  # before its first crop, it is where it goes on
    begin(fresh, 2)
    assert len(digests(fresh)) == 50


def test_a_stream_is_told_its_dataset_and_both_its_rank_and_the_number_of_ranks(large):
    dataset = CropDataset(large, 32, crops=50)
    with pytest.raises(ozx.UsageError, match=r"expected a CropDataset; got 'large\.ozx'"):
        CropStream("large.ozx")
    for one in ({"rank": 0}, {"ranks": 2}):
        with pytest.raises(ozx.UsageError, match="expected rank and ranks; got only"):
            CropStream(dataset, **one)


def test_a_stream_reads_each_byte_of_a_shard_once(large):
    data = large.read_bytes()
    with serving(data) as server:
        stream = CropStream(CropDataset(server.url, 32, crops=400, channels=[1]))
        server.take_requests()
        assert len(digests(stream)) == 400
        ranges = sorted(asked_range(wanted, len(data)) for _, wanted in server.take_requests())
    assert all(stop <= start for (_, stop), (start, _) in itertools.pairwise(ranges))
    assert sum(stop - start for start, stop in ranges) < 1.2 * SIDE * SIDE * 2


def test_crops_are_arrays_where_torch_is_missing(files):
    with pytest.MonkeyPatch.context() as patch:
        patch.delitem(sys.modules, "ozx.torch")
        patch.setitem(sys.modules, "torch", None)
        plain = importlib.import_module("ozx.torch")
        dataset = plain.CropDataset(files / "image.ozx", 16, labels="cells", crops=2)
        assert all(type(part) is np.ndarray for sample in plain.CropStream(dataset) for part in sample)


# --- with PyTorch ---------------------------------------------------------------------------------


def loader(dataset, **options):
    data = pytest.importorskip("torch.utils.data")
    return data.DataLoader(dataset, batch_size=8, **{"num_workers": 2, **options})


def flat(batches):
    return [crop for batch in batches for crop in digests(batch)]


STARTS = ["fork", "spawn", "forkserver"]


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("start", STARTS)
def test_workers_make_the_same_crops_and_see_each_epoch(files, large, start):
    dataset = CropDataset(files / "plate.ozx", 32, crops=50, seed=9)
    stream = CropStream(CropDataset(large, 32, crops=50))
    persistent = loader(dataset, multiprocessing_context=start, persistent_workers=True)
    streaming = loader(stream, multiprocessing_context=start, persistent_workers=True)
    for epoch in (0, 1):
        dataset.set_epoch(epoch)
        stream.set_epoch(epoch)
        assert flat(persistent) == digests(dataset.__getitems__(range(50)))
        assert sorted(flat(streaming)) == sorted(digests(stream))


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("start", STARTS)
def test_after_the_kill_of_a_worker_a_training_goes_on(files, start):
    dataset = CropDataset(files / "image.ozx", 32, crops=400, seed=9)
    wanted = digests(dataset.__getitems__(range(400)))
    batches = iter(loader(dataset, multiprocessing_context=start))
    used = flat(next(batches) for _ in range(3))
    # What PyTorch raises depends on whether it waits for the worker, or for memory that the worker shares.
    with pytest.raises((RuntimeError, OSError, EOFError)):
        os.kill(batches._workers[0].pid, signal.SIGKILL)
        batches._workers[0].join()
        flat(batches)
    dataset.load_state_dict(dataset.state_dict(24))
    assert used[:24] + flat(loader(dataset, multiprocessing_context=start)) == wanted


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:'set_vital' is deprecated:UserWarning")
def test_a_stateful_loader_goes_on_with_workers(large):
    stateful = pytest.importorskip("torchdata.stateful_dataloader").StatefulDataLoader

    def begin(kind):
        dataset = CropDataset(large, 32, crops=96)
        return stateful(CropStream(dataset) if kind == "stream" else dataset, batch_size=8, num_workers=2)

    for kind in ("stream", "map"):
        whole, first = flat(begin(kind)), begin(kind)
        used = flat(batch for _, batch in zip(range(5), first, strict=False))
        rest = begin(kind)
        rest.load_state_dict(first.state_dict())
        assert used + flat(rest) == whole


@pytest.mark.torch
def test_a_stream_takes_its_rank_from_torch(large):
    distributed = pytest.importorskip("torch.distributed")
    from torch.testing._internal.distributed.fake_pg import FakeStore  # noqa: PLC0415

    dataset = CropDataset(large, 32, crops=48)
    distributed.init_process_group("fake", rank=1, world_size=3, store=FakeStore())
    try:
        stream = CropStream(dataset)
    finally:
        distributed.destroy_process_group()
    assert len(stream) == 16
    assert digests(stream) == digests(CropStream(dataset, 1, 3))


@pytest.mark.torch
def test_a_url_is_read_by_forked_workers(files):
    pytest.importorskip("obstore")
    with serving((files / "image.ozx").read_bytes()) as server:
        dataset = CropDataset(server.url, 32, crops=40)
        wanted = digests(dataset.__getitems__(range(40)))
        assert flat(loader(dataset, multiprocessing_context="fork")) == wanted
