"""Labels added to images and removed: levels, colours, the rest of the file unchanged, and what is refused."""

import json
import os
import shutil
import signal
import warnings
from concurrent.futures import ThreadPoolExecutor

import dask.array as da
import numpy as np
import pytest
import tifffile
import xarray as xr
import zarr
from children import in_child, wait
from ending import assert_no_more_than, check_full_disks, die_at_step, needs_fork
from hierarchies import FIXTURES, state, tree
from ome_zarr_models import open_ome_zarr
from packed import pack_tree, values_of
from sweeping import forget_swept_folders
from zarr.storage import ZipStore

import ozx
from ozx.errors import FormatError, UnsupportedError, UsageError

RANDOM = np.random.default_rng(0)
PIXELS = RANDOM.integers(0, 4000, (2, 301, 523), dtype="uint16")
MASK = np.repeat(np.repeat(RANDOM.integers(0, 9, (38, 66)), 8, 0), 8, 1)[:301, :523].astype("uint32")


@pytest.fixture
def cells(tmp_path):
    """An image of two channels and two levels."""
    path = tmp_path / "cells.ozx"
    ozx.write_image(
        path, PIXELS, axes="cyx", pixel_size={"y": 0.5, "x": 0.25}, unit="um", channel_names=["A", "B"], sync=False
    )
    return path


def add(path, name, mask, **options):
    return ozx.add_labels(path, name, mask, sync=False, **options)


def unpacked(path):
    folder = path.with_suffix(".zarr")
    ozx.unpack(path, folder, sync=False)
    return folder


def read(path, node):
    store = zarr.storage.LocalStore(path) if path.is_dir() else ZipStore(path, mode="r")
    return zarr.open_array(store, path=node, mode="r")[...]


def ome_of(path, node):
    key = f"{node}/zarr.json"
    value = (path / key).read_bytes() if path.is_dir() else values_of(path)[key]
    return json.loads(value)["attributes"]["ome"]


def findings(path):
    return ozx.validate(path, level="data").findings


@pytest.mark.parametrize("is_folder", [False, True])
def test_the_levels_are_those_of_the_image_with_the_nearest_pixels(cells, is_folder):
    path = unpacked(cells) if is_folder else cells
    result = add(path, "nuclei", MASK)
    assert result.to_dict() == {"schema": 2, "path": str(path), "label": "labels/nuclei", "values": 8, "notes": []}
    assert (read(path, "labels/nuclei/0") == MASK).all()
    assert (read(path, "labels/nuclei/1") == MASK[::2, ::2]).all()
    (label,) = ozx.inspect(path).labels
    (image,) = ozx.inspect(path).images
    assert [level.scale for level in label.levels] == [level.scale[1:] for level in image.levels]
    assert [(axis.name, axis.unit) for axis in label.axes] == [("y", "micrometer"), ("x", "micrometer")]
    assert (read(path, "0") == PIXELS).all()
    assert findings(path) == ()


def test_other_programs_read_the_labels(cells):
    add(cells, "nuclei", MASK)
    model = open_ome_zarr(zarr.open_group(ozx.OzxStore(cells), mode="r"))
    assert model.labels is not None
    group = zarr.open_group(ZipStore(cells, mode="r"), mode="r")
    assert group["labels"].attrs["ome"] == {"version": "0.5", "labels": ["nuclei"]}
    assert group["labels/nuclei"].attrs["ome"]["image-label"]["source"] == {"image": "../../"}


def test_the_metadata_comes_first_and_other_values_stay(cells):
    before = values_of(cells)
    add(cells, "nuclei", MASK)
    keys = [entry.key for entry in sorted(ozx.list_entries(cells), key=lambda entry: entry.offset)]
    count = sum(key.endswith("zarr.json") for key in keys)
    assert keys[0] == "zarr.json"
    assert all(key.endswith("zarr.json") for key in keys[:count])
    assert {key: value.rstrip() for key, value in values_of(cells).items() if key in before} == {
        key: value.rstrip() for key, value in before.items()
    }


def test_a_second_label_image_leaves_the_first(cells):
    add(cells, "nuclei", MASK)
    add(cells, "bright", PIXELS[0] > 3000)
    assert ome_of(cells, "labels")["labels"] == ["nuclei", "bright"]
    assert (read(cells, "labels/nuclei/0") == MASK).all()
    assert (read(cells, "labels/bright/0") == (PIXELS[0] > 3000)).all()
    assert ome_of(cells, "labels/bright")["image-label"]["colors"][0]["label-value"] == 1
    assert findings(cells) == ()


@pytest.mark.parametrize("is_folder", [False, True])
def test_an_existing_label_image_needs_force(cells, is_folder):
    path = unpacked(cells) if is_folder else cells
    add(path, "nuclei", MASK)
    before = state(path)
    with pytest.raises(UsageError, match="has labels 'nuclei' already"):
        add(path, "nuclei", MASK + 1)
    assert state(path) == before
    add(path, "nuclei", MASK + 1, force=True)
    assert (read(path, "labels/nuclei/0") == MASK + 1).all()
    assert ome_of(path, "labels")["labels"] == ["nuclei"]
    assert findings(path) == ()


@pytest.mark.parametrize("is_folder", [False, True])
def test_removed_labels_leave_the_file_as_it_was(cells, is_folder):
    path = unpacked(cells) if is_folder else cells
    before, size = (tree(path), 0) if is_folder else (values_of(path), cells.stat().st_size)
    add(path, "nuclei", MASK)
    add(path, "bright", PIXELS[0] > 3000)
    assert ozx.remove_labels(path, "nuclei", sync=False).label == "labels/nuclei"
    assert ome_of(path, "labels")["labels"] == ["bright"]
    assert findings(path) == ()
    ozx.remove_labels(path, "bright", sync=False)
    after = tree(path) if is_folder else values_of(path)
    assert {key: value.rstrip() for key, value in after.items()} == {
        key: value.rstrip() for key, value in before.items()
    }
    assert is_folder or cells.stat().st_size <= size + 4096
    with pytest.raises(UsageError, match="has no labels 'bright'"):
        ozx.remove_labels(path, "bright")
    assert sorted(os.listdir(cells.parent)) == sorted({"cells.ozx", path.name})


@pytest.mark.parametrize("ending", ["tif", "npy", "ozx", "zarr"])
def test_a_mask_may_be_a_file(cells, tmp_path, ending):
    path = tmp_path / f"mask.{ending}"
    if ending == "tif":
        tifffile.imwrite(path, MASK, tile=(64, 64))
    elif ending == "npy":
        np.save(path, MASK)
    else:
        ozx.write_image(tmp_path / "mask.ozx", MASK, labels=True)
        if ending == "zarr":
            ozx.unpack(tmp_path / "mask.ozx", path)
    add(cells, "nuclei", path)
    assert (read(cells, "labels/nuclei/0") == MASK).all()
    assert (read(cells, "labels/nuclei/1") == MASK[::2, ::2]).all()


@pytest.mark.parametrize(
    "mask",
    [
        da.from_array(MASK, chunks=(100, 90)),
        xr.DataArray(MASK.T, dims=("x", "y")),
        MASK[None, None],
    ],
    ids=["dask", "xarray", "axes of length 1"],
)
def test_a_mask_may_be_another_array(cells, mask):
    add(cells, "nuclei", mask)
    assert (read(cells, "labels/nuclei/0") == MASK).all()


@pytest.mark.parametrize("dtype", ["int8", "uint8", ">u2", "int32", "uint64"])
def test_all_types_of_integers_stay(cells, dtype):
    add(cells, "nuclei", MASK.astype(dtype))
    found = read(cells, "labels/nuclei/0")
    assert found.dtype == np.dtype(dtype).newbyteorder("=")
    assert (found == MASK).all()


UNITS = {"t": "s", "z": "um", "y": "um", "x": "um"}
STACK = RANDOM.integers(0, 5, (3, 4, 40, 50), dtype="uint16")


@pytest.mark.parametrize(
    ("mask", "axes", "shape", "notes"),
    [
        (STACK, None, (3, 4, 40, 50), 0),
        (STACK[0], None, (1, 4, 40, 50), 1),
        (STACK[:, 0], "tyx", (3, 1, 40, 50), 1),
        (STACK[0, 0], None, (1, 1, 40, 50), 2),
        (STACK[:, :1], None, (3, 1, 40, 50), 1),
    ],
)
def test_a_mask_without_t_or_z_applies_to_all_of_them(tmp_path, mask, axes, shape, notes):
    path = tmp_path / "stack.ozx"
    ozx.write_image(path, STACK[:, None], axes="tczyx", unit=UNITS, sync=False)
    result = add(path, "nuclei", mask, axes=axes)
    assert len(result.notes) == notes
    assert (read(path, "labels/nuclei/0") == mask.reshape(shape)).all()
    assert findings(path) == ()


def test_planes_of_a_tiff_file_are_matched_by_its_axes(tmp_path):
    path, mask = tmp_path / "film.ozx", tmp_path / "mask.tif"
    ozx.write_image(path, STACK[:, 0], axes="tyx", sync=False)
    tifffile.imwrite(mask, STACK[:, 0], imagej=True, metadata={"axes": "ZYX"})  # as many programs name time points
    add(path, "nuclei", mask)
    assert (read(path, "labels/nuclei/0") == STACK[:, 0]).all()


@pytest.mark.parametrize("factor", [2, 3, 4])
@pytest.mark.parametrize("is_floor", [False, True])
def test_levels_of_other_programs_get_the_nearest_pixels(tmp_path, factor, is_floor):
    path = tmp_path / "a.zarr"
    mask = RANDOM.integers(0, 99, (53, 71), dtype="uint8")
    group = zarr.create_group(path)
    datasets = []
    for number in range(3):
        by = factor**number
        shape = tuple(length // by if is_floor else -(-length // by) for length in mask.shape)
        group.create_array(str(number), shape=shape, dtype="uint8", dimension_names=("y", "x"), chunks=(16, 16))
        scale = [{"type": "scale", "scale": [float(by), float(by)]}]
        datasets.append({"path": str(number), "coordinateTransformations": scale})
    axes = [{"name": name, "type": "space"} for name in "yx"]
    group.attrs["ome"] = {"version": "0.5", "multiscales": [{"axes": axes, "datasets": datasets, "name": "a"}]}
    add(path, "nuclei", mask)
    for number in range(3):
        by = factor**number
        height, width = group[str(number)].shape
        assert (read(path, f"labels/nuclei/{number}") == mask[::by, ::by][:height, :width]).all()
    scales = [level.scale for level in ozx.inspect(path).labels[0].levels]
    assert scales == [level.scale for level in ozx.inspect(path).images[0].levels]


def test_large_steps_read_the_mask_in_parts(tmp_path, monkeypatch):
    monkeypatch.setattr("ozx.images.pixel_source._MOST_PIXELS", 100)
    test_levels_of_other_programs_get_the_nearest_pixels(tmp_path, 4, True)


def colors_of(path):
    return {item["label-value"]: item["rgba"] for item in ome_of(path, "labels/a")["image-label"]["colors"]}


def test_each_label_gets_a_colour_of_its_own(cells):
    add(cells, "a", MASK)
    found = colors_of(cells)
    assert list(found) == list(range(1, 9))
    assert len({tuple(color) for color in found.values()}) == 8


def test_colours_may_be_given(cells):
    add(cells, "a", MASK, colors={1: "FF0000", 3: "green"})
    assert colors_of(cells) == {1: [255, 0, 0, 255], 3: [0, 255, 0, 255]}
    add(cells, "a", MASK, colors="yellow", force=True)
    assert colors_of(cells) == {value: [255, 255, 0, 255] for value in range(1, 9)}
    for wrong in ("nonsense", {1: "nonsense"}, {"one": "red"}, 7):
        with pytest.raises(UsageError, match="expected a colour"):
            add(cells, "b", MASK, colors=wrong)


def test_a_mask_of_zeros_has_a_colour_too(cells):
    assert add(cells, "a", np.zeros_like(MASK)).values == 0
    assert colors_of(cells) == {0: [0, 0, 0, 0]}
    assert findings(cells) == ()


def test_very_many_labels_get_no_colours(cells):
    result = add(cells, "a", np.arange(MASK.size, dtype="uint32").reshape(MASK.shape))
    assert result.values is None
    assert "no colours are written" in result.notes[0]
    assert "colors" not in ome_of(cells, "labels/a")["image-label"]


def test_labels_of_a_field_of_a_plate(tmp_path):
    path = pack_tree(FIXTURES / "plate.ome.zarr", tmp_path / "plate.ozx")
    shape = ozx.inspect(path).images[0].levels[0].shape
    mask = np.ones(shape[1:], "uint8")
    with pytest.raises(UsageError, match="several images: A/1/0, "):
        add(path, "cells", mask)
    assert add(path, "cells", mask, node="A/1/0").label == "A/1/0/labels/cells"
    assert ozx.inspect(path).labels[0].path == "A/1/0/labels/cells"
    assert add(f"{path}|zip:A/1/0/", "more", mask).label == "A/1/0/labels/more"
    assert [f.id for f in findings(path)] == [
        f.id for f in findings(pack_tree(FIXTURES / "plate.ome.zarr", tmp_path / "b.ozx"))
    ]
    ozx.remove_labels(path, "cells", node="A/1/0")
    assert [label.path for label in ozx.inspect(path).labels] == ["A/1/0/labels/more"]


def test_the_version_of_the_image_is_that_of_its_labels(tmp_path):
    path = tmp_path / "a.ozx"
    ozx.write_image(path, PIXELS, axes="cyx", ome_version="0.6", sync=False)
    add(path, "nuclei", MASK)
    assert {ome_of(path, node)["version"] for node in ("labels", "labels/nuclei")} == {"0.6"}
    assert [finding for finding in findings(path) if finding.severity != "note"] == []


def test_zarr_v2_is_refused_with_the_way_out(tmp_path):
    folder = shutil.copytree(FIXTURES / "legacy.ome.zarr", tmp_path / "old.zarr")
    before = tree(folder)
    with pytest.raises(UnsupportedError, match=r"expected OME-Zarr 0\.5 or 0\.6; found 0\.4") as caught:
        add(folder, "nuclei", MASK)
    assert "ozx repack" in caught.value.hint
    assert tree(folder) == before


def test_copies_of_metadata_do_not_hide_the_labels(cells):
    folder = unpacked(cells)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        zarr.consolidate_metadata(str(folder))
    add(folder, "nuclei", MASK)
    assert (zarr.open_group(str(folder), mode="r")["labels/nuclei/0"][...] == MASK).all()


def test_a_link_stays_a_link_and_the_checksum_goes(cells, tmp_path):
    link = tmp_path / "link.ozx"
    link.symlink_to(cells)
    (tmp_path / "cells.ozx.sha256").write_text("old")
    (note,) = add(link, "nuclei", MASK).notes
    assert "cells.ozx.sha256" in note
    assert link.is_symlink()
    assert ozx.inspect(cells).labels


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (MASK.astype("float32"), "expected labels that are integers; found float32"),
        (MASK[1:], "the mask has another size"),
        (MASK[:, :1], "the mask has another size"),
        (np.stack([MASK, MASK]), "the mask has another size"),
        (MASK[0], "expected 2 to 5 dimensions"),
        ([[1, 2]], "expected an array"),
    ],
)
def test_a_mask_that_does_not_fit_is_refused(cells, mask, message):
    before = state(cells)
    with pytest.raises(UsageError, match=message) as caught:
        add(cells, "nuclei", mask)
    assert caught.value.hint
    assert state(cells) == before


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "zarr.json", "__a", "a\0b", 7])
def test_a_name_that_names_no_node_is_refused(cells, name):
    with pytest.raises(UsageError, match="expected the name of a label image"):
        add(cells, name, MASK)


@pytest.mark.parametrize("node", ["A/1/0", "..", 7])
def test_a_node_that_is_not_there_is_refused(cells, node):
    with pytest.raises(UsageError, match="there is no node"):
        add(cells, "nuclei", MASK, node=node)


def test_labels_have_no_labels(cells):
    add(cells, "nuclei", MASK)
    with pytest.raises(UsageError, match="is a label image"):
        add(cells, "more", MASK, node="labels/nuclei")
    with pytest.raises(UsageError, match="this computer; found a URL"):
        add("s3://bucket/a.ozx", "nuclei", MASK)
    with pytest.raises(UsageError, match="this computer; found a URL"):
        ozx.remove_labels("https://example.org/a.ozx", "nuclei")


def test_a_damaged_mask_is_named(cells, tmp_path):
    (tmp_path / "mask.npy").write_bytes(b"\x93NUMPY\1\0")
    (tmp_path / "mask.tif").write_bytes(b"II*\0\x08\0\0\0")
    for name in ("mask.npy", "mask.tif"):
        with pytest.raises(FormatError) as caught:
            add(cells, "nuclei", tmp_path / name)
        assert caught.value.path == str(tmp_path / name)


@pytest.mark.posix("copy_file_range", on="linux")
def test_bytes_written_do_not_depend_on_the_size_of_the_image(tmp_path, monkeypatch):
    """The system moves the image: by sharing blocks where it can, which needs starts at the same place of a block."""
    mask, noise = MASK.repeat(2, 0), RANDOM.integers(0, 4000, (20, 602, 523), dtype="uint16")
    real, pwritev, sums = os.copy_file_range, os.pwritev, []
    for pixels in (noise[:2], noise):
        path = tmp_path / f"{len(pixels)}.ozx"
        ozx.write_image(path, pixels, axes="tyx", unit={"t": "s", "y": "um", "x": "um"}, sync=False)
        written, starts = [], []

        def copied(source, target, count, offset_src, offset_dst, starts=starts):
            starts.append((offset_src - offset_dst) % 4096)
            return real(source, target, count, offset_src, offset_dst)

        def counted(descriptor, pieces, offset, written=written):
            written.append(sum(map(len, pieces)))
            return pwritev(descriptor, pieces, offset)

        with monkeypatch.context() as patch:
            patch.setattr(os, "copy_file_range", copied)
            patch.setattr(os, "pwritev", counted)
            patch.setattr(os, "pwrite", lambda fd, data, at, counted=counted: counted(fd, [data], at))
            add(path, "nuclei", mask)
        sums.append(sum(written))
        assert set(starts) == {0}
        assert findings(path) == ()
    assert abs(sums[0] - sums[1]) < 10_000 < noise.nbytes / 100


STEPS = ("fsync", "link", "unlink", "rename", "replace", "mkdir", "rmdir", "pwrite", "pwritev", "copy_file_range")


@needs_fork
@pytest.mark.parametrize("is_folder", [False, pytest.param(True, marks=pytest.mark.ci)])
@pytest.mark.parametrize("removes", [False, pytest.param(True, marks=pytest.mark.ci)])
def test_killed_before_every_step_that_changes_the_disk(cells, tmp_path, is_folder, removes):
    source = unpacked(cells) if is_folder else cells
    if removes:
        add(source, "nuclei", MASK)

    def work(path):
        ozx.remove_labels(path, "nuclei") if removes else ozx.add_labels(path, "nuclei", MASK)

    for deadly in range(200):
        path = tmp_path / str(deadly) / source.name
        path.parent.mkdir()
        (shutil.copytree if is_folder else shutil.copyfile)(source, path)

        def dying(path=path, deadly=deadly):
            die_at_step(deadly, [(os, name) for name in STEPS])
            work(path)

        forget_swept_folders()
        code = wait(in_child(dying))
        assert [f.id for f in findings(path) if f.severity == "error"] == []
        assert (read(path, "0") == PIXELS).all()
        names = [label.path for label in ozx.inspect(path).labels]
        assert names in ([], ["labels/nuclei"])
        assert_no_more_than(path.parent, path.name)
        if code == 0:
            assert names == ([] if removes else ["labels/nuclei"])
            break
        assert code == -signal.SIGKILL
    assert deadly > 2


@needs_fork
def test_a_full_disk_leaves_the_old_file(cells):
    size = cells.stat().st_size
    check_full_disks(lambda: add(cells, "nuclei", MASK), cells, (0, 1, 1_000, size // 2, size), names=cells)


def test_labels_that_several_threads_add_to_a_directory_are_all_listed(tmp_path):
    ozx.write_image(tmp_path / "a.ozx", np.zeros((64, 64), "uint8"), sync=False)
    ozx.unpack(tmp_path / "a.ozx", tmp_path / "a.zarr", sync=False)
    names = [f"l{number}" for number in range(6)]
    with ThreadPoolExecutor(len(names)) as pool:
        mask = np.ones((64, 64), "uint8")
        list(pool.map(lambda name: ozx.add_labels(tmp_path / "a.zarr", name, mask, sync=False), names))
        assert sorted(ozx.open_image(tmp_path / "a.zarr").labels) == names
        list(pool.map(lambda name: ozx.remove_labels(tmp_path / "a.zarr", name, sync=False), names[1:]))
    assert list(ozx.open_image(tmp_path / "a.zarr").labels) == ["l0"]
    assert ozx.validate(tmp_path / "a.zarr").valid
