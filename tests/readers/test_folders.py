"""Folders that become one file: one plane per file, data sets of Micro-Manager, plates by their index."""

import json
import os
import pickle
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import tifffile
from acquisitions import (
    SHAPE,
    write_cell_voyager,
    write_image_xpress,
    write_micro_manager,
    write_ndtiff,
    write_plane,
    write_planes,
)

import ozx
from ozx.quoting import quote, quote_pattern
from ozx.readers.images import ReadingOptions
from ozx.readers.plane_names import make_grid
from ozx.readers.registry import open_images

SAMPLES = Path(os.environ.get("OZX_SAMPLES", "absent")) / "tiff-cases"


def axes_of(path: str, node: str = "") -> list[tuple[str, int]]:
    return [(axis.name, axis.size) for axis in ozx.open_image(path, node).axes]


@pytest.fixture
def joined(tmp_path):
    """Return a function that imports a folder, and returns the result and the pixels."""

    def work(folder: Path, **options):
        result = ozx.import_image(folder, tmp_path / "joined.ozx", **options)
        return result, ozx.open(result.path)

    return work


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="needs the files with known answers")
def test_planes_of_the_sample_become_one_image(joined):
    result, group = joined(SAMPLES / "planes")
    assert axes_of(result.path) == [("t", 1), ("c", 2), ("y", 256), ("x", 256)]
    for c in (1, 2):
        assert np.array_equal(group["0"][0, c - 1], tifffile.imread(SAMPLES / "planes" / f"img_t001_c{c}.tif"))


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="needs the files with known answers")
def test_files_that_ome_xml_joins_stay_joined_by_it(joined):
    result, _ = joined(SAMPLES / "mm_files")
    assert (result.images, result.joined) == (3, None)


def test_planes_become_one_image_beside_their_folder(tmp_path):
    folder = write_planes(tmp_path / "planes")
    result = ozx.import_image(f"{folder}/")
    assert (result.path, result.images) == (f"{folder}.ozx", 1)
    assert result.joined == "6 files → t 3, c 2, y 16, x 20"
    pixels = ozx.open(result.path)["0"]
    assert [[int(pixels[t, c, 0, 0]) for c in (0, 1)] for t in (0, 1, 2)] == [[11, 12], [21, 22], [31, 32]]
    assert ozx.validate(result.path).valid


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["a_t1.tif", "a_t2.tif", "a_t10.tif"], None),
        (["a_t0.tif", "a_t10.tif", "a_t20.tif"], "t 3"),
        (["A_z03.TIF", "A_z04.TIF"], "z 2"),
        (["S_z00_ch00.tif", "S_z00_ch01.tif"], "c 2, z 1"),
        (["x_w1DAPI.tif", "x_w2GFP.tif"], "c 2"),
        (["e_s1.tif", "e_s2.tif"], "2 images of"),
        (
            ["img_channel000_position000_time000_z000.tif", "img_channel001_position000_time000_z000.tif"],
            "t 1, c 2, z 1",
        ),
        (["p_A01_w1.tif", "p_B03_w1.tif"], "a plate of 2 wells, 2 images of c 1"),
        (["A01f01.tif", "A01f02.tif", "B01f01.tif", "B01f02.tif"], "a plate of 2 wells, 4 images of"),
        (["C01.tif", "C02.tif"], "c 2"),
        (["A1_c1.tif", "A12_c1.tif", "H3_c1.tif"], "a plate of 3 wells, 3 images of c 1"),
        # An identifier of its own behind the channel of each file, as MetaXpress writes them.
        (
            ["A01_w16E7B0F02-1F34-4B48-A3BB-2D3A15DCAB53.tif", "A02_w19AC97C9C-9C54-4F89-9E2A-0C3E20E8A4A0.tif"],
            "a plate of 2 wells, 2 images of c 1",
        ),
    ],
)
def test_axes_come_from_letters_and_numbers_in_the_names(tmp_path, joined, names, words):
    for name in names:
        write_plane(tmp_path / "f" / name, 1)
    if words is None:
        with pytest.raises(ozx.FormatError, match="no file has t 3"):
            joined(tmp_path / "f")
        return
    result, _ = joined(tmp_path / "f")
    assert f"→ {words}" in result.joined


def _names(form: str, *texts) -> list[str]:
    return [form.format(*each) for each in product(*texts)]


@pytest.mark.parametrize(
    ("names", "why", "pattern"),
    [
        (["img1.tif", "img2.tif"], "the letters img of img1.tif name no axis", "img{t}.tif"),
        (["cells.tif", "dish.tif"], None, None),
        (["a_t1.tif", "a_t2.tif", "overview.tif"], "differ in more than numbers of axes", "a_t{t}.tif"),
        (
            ["s1_p1.tif", "s1_p2.tif", "s2_p1.tif", "s2_p2.tif"],
            "several numbers in s1_p1.tif name the same axis",
            "s{t}_p{c}.tif",
        ),
        (["img_0_DAPI_0.tif", "img_1_DAPI_0.tif"], "differ in more than numbers of axes", "img_{t}_DAPI_0.tif"),
        (["a_t1_s{1}.tif", "a_t2_s{1}.tif"], None, None),
        (_names("X_{}_Z{}_CH{}.tif", "12", "12", "12"), "differ in more than numbers of axes", "X_{t}_Z{z}_CH{c}.tif"),
        (_names("e_Position {}_t{}.tif", "12", "12"), "differ in more", "e_Position {s}_t{t}.tif"),
        (_names("{}_Time{}.tif", "12", "12"), "differ in more", "{c}_Time{t}.tif"),
        (_names("img_{}_{}_{}.tif", "01", ("DAPI", "Cy5"), "01"), "differ in more", "img_{t}_{c}_{z}.tif"),
        (_names("e_{}_{}.tif", ("A1", "B12"), "01"), "differ in more", "e_{well}_{t}.tif"),
        (["r1c1f1p1-ch1.tif", "r2c2f2p2-ch2.tif"], None, None),
    ],
)
def test_other_images_stay_separate(tmp_path, names, why, pattern):
    for name in names:
        write_plane(tmp_path / "f" / name, 1)
    with pytest.raises(ozx.UsageError, match=why or "a directory of . TIFF images") as caught:
        ozx.import_image(tmp_path / "f")
    assert caught.value.hint.endswith(f"un: ozx import {quote_pattern(str(tmp_path / 'f'), '*.tif')}")
    assert [path.name for path in tmp_path.iterdir()] == ["f"]
    assert ("--pattern" in caught.value.hint) == (pattern is not None)
    if pattern is not None:
        assert f"--pattern {quote(pattern)}. For one image each, run" in caught.value.hint
        ozx.import_image(tmp_path / "f", pattern=pattern)


def test_channels_of_the_names_and_metadata_of_the_files_are_used(tmp_path, joined):
    for t, (number, name) in product((1, 2), enumerate(("DAPI", "GFP"), 1)):
        said = {"axes": "ZYX", "spacing": 2, "unit": "um"}
        path = tmp_path / "f" / f"x_w{number}{name}_t{t}.tif"
        write_plane(path, 10 * t + number, (5, *SHAPE), imagej=True, metadata=said, resolution=(2, 2))
    result, group = joined(tmp_path / "f")
    image = ozx.open_image(result.path)
    assert [(axis.name, axis.size) for axis in image.axes] == [("t", 2), ("c", 2), ("z", 5), ("y", 16), ("x", 20)]
    assert [channel.name for channel in image.channels] == ["DAPI", "GFP"]
    assert image.scale == pytest.approx((1, 1, 2, 0.5, 0.5))
    assert np.array_equal(group["0"][1, 0], np.full((5, *SHAPE), 21))


def test_colour_planes_and_compressed_planes_are_joined(tmp_path, joined):
    pixels = np.random.default_rng(1).integers(0, 255, (2, *SHAPE, 3), "uint8")
    for t in (0, 1):
        tifffile.imwrite(tmp_path / f"t{t}.tif", pixels[t], photometric="rgb", compression="zlib" if t else None)
    result, group = joined(tmp_path)  # with the output among the planes
    assert np.array_equal(group["0"][:], np.moveaxis(pixels, -1, 1))
    assert [channel.name for channel in ozx.open_image(result.path).channels] == ["Red", "Green", "Blue"]


def test_fields_of_a_plate_are_in_their_wells(tmp_path, joined):
    for well, s, c in product(("A01", "B03"), (1, 2), (1, 2)):
        write_plane(tmp_path / "f" / f"p_{well}_s{s}_w{c}.TIF", 100 * int(well[1:]) + 10 * s + c)
    result, _ = joined(tmp_path / "f")
    assert result.images == 4
    plate = ozx.inspect(result.path).plate
    assert (plate.rows, plate.columns) == (("A", "B"), ("1", "2", "3"))
    assert np.unique(ozx.open_image(result.path, "B/3/1").read()).tolist() == [321, 322]


def test_a_pattern_names_what_varies(tmp_path, joined):
    for t, name in product((0, 1), ("DAPI", "GFP")):
        write_plane(tmp_path / "f" / f"img_{t:09}_{name}_000.tif", 10 * t + (name == "GFP"))
    result, group = joined(tmp_path / "f", pattern="img_{t}_{c}_*.tif")
    assert [channel.name for channel in ozx.open_image(result.path).channels] == ["DAPI", "GFP"]
    assert group["0"][:, :, 0, 0].tolist() == [[0, 1], [10, 11]]


@pytest.mark.parametrize("slash", ["/", "\\"])
def test_a_pattern_reaches_into_folders(tmp_path, joined, slash):
    for s, t in product((1, 2), (1, 2)):
        write_plane(tmp_path / "f" / f"Pos{s}" / f"img{t}.tif", 10 * s + t)
    result, group = joined(tmp_path / "f", pattern=f"Pos{{s}}{slash}img{{t}}.tif")
    assert result.images == 2
    assert group["1/0"][:, 0, 0].tolist() == [21, 22]


def test_files_beside_the_planes_are_left_out_with_a_note(tmp_path, joined):
    folder = write_planes(tmp_path / "f")
    (folder / "metadata.txt").write_text("from Monday")  # and no JSON of Micro-Manager
    (folder / ".DS_Store").write_bytes(b"")
    assert "1 other file of the folder is left out: metadata.txt" in joined(folder)[0].notes
    result, _ = joined(folder, pattern="img_t{t}_c1.tif", force=True)
    assert result.joined == "3 files → t 3, y 16, x 20"
    assert "4 other files of the folder are left out" in result.notes[0]


def test_small_copies_of_planes_are_left_out(tmp_path, joined):
    for c in (1, 2):
        write_plane(tmp_path / "f" / f"A01_s1_w{c}.TIF", c)
        write_plane(tmp_path / "f" / f"A01_s1_w{c}_thumb.TIF", c, (4, 5))
    for pattern in (None, "A01_s{s}_w{c}.TIF"):
        result, group = joined(tmp_path / "f", pattern=pattern, force=True)
        assert group["0"][:, 0, 0].tolist() == [1, 2]
        assert "2 other files of the folder are left out: A01_s1_w1_thumb.TIF" in result.notes[0]


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("img_t{t}_q{q}.tif", r"expected \{t\}, .* got '\{q\}'"),
        ("img_t{t_c1.tif", "got 'img_t{t_c1.tif'"),
        ("img.tif", "found none"),
        ("imx_{t}.tif", "no file in the folder fits the pattern"),
        ("img_t{t}_c{t}.tif", "no file in the folder fits the pattern"),
    ],
)
def test_wrong_patterns_are_refused(tmp_path, pattern, message):
    with pytest.raises(ozx.UsageError, match=message):
        ozx.import_image(write_planes(tmp_path / "f"), pattern=pattern)


def test_a_pattern_needs_a_folder(tmp_path):
    write_planes(tmp_path)
    with pytest.raises(ozx.UsageError, match="joins the files of a folder; found a file"):
        ozx.import_image(tmp_path / "img_t001_c1.tif", pattern="img_t{t}.tif")


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (Path.unlink, r"1 of the 6 files of the image is missing: img_t002_c2\.tif \(t 002, c 2\)"),
        (lambda path: write_plane(path, 1, (16, 21)), "expected uint16 of 16×20.* found uint16 of 16×21"),
        (lambda path: tifffile.imwrite(path, np.zeros(SHAPE, "u1")), "expected uint16 of 16×20.* found uint8 of 16×20"),
        (lambda path: write_plane(path, 1, (2, *SHAPE)), "expected one page, as in the other files; found 2"),
        (lambda path: path.write_text("no image"), "expected a TIFF file"),
        (lambda path: path.write_bytes(path.read_bytes()[:-100]), "cut off"),
    ],
    ids=["missing", "another size", "another type", "two pages", "no image", "cut off"],
)
def test_a_plane_that_does_not_fit_is_an_error_or_is_filled(tmp_path, joined, harm, message):
    folder = write_planes(tmp_path / "f")
    harm(folder / "img_t002_c2.tif")
    with pytest.raises(ozx.FormatError, match=message) as caught:
        joined(folder)
    assert "img_t002_c2.tif" in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["f"]
    result, group = joined(folder, on_error="fill")
    assert len(result.damage) == 1
    assert "img_t002_c2.tif" in result.damage[0]
    assert group["0"][:, :, -1, -1].tolist() == [[11, 12], [21, 0], [31, 32]]


def test_a_missing_time_point_is_named_and_filled(tmp_path, joined):
    folder = write_planes(tmp_path / "f", times=(1, 2, 4), channels=(1,))
    with pytest.raises(ozx.FormatError, match="no file has t 003: it stands between t 002 and 004"):
        joined(folder)
    result, group = joined(folder, on_error="fill")
    assert group["0"][:, 0, 0, 0].tolist() == [11, 21, 0, 41]
    assert result.damage == ("img_t003_c1.tif (t 003, c 1) is missing; filled with zeros",)


@pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")
def test_a_link_to_a_file_that_is_not_there_is_a_missing_plane(tmp_path, joined):
    folder = write_planes(tmp_path / "f")
    for c in (1, 2):
        (folder / f"img_t003_c{c}.tif").unlink()
        (folder / f"img_t003_c{c}.tif").symlink_to(".git/annex/gone.tif")
    with pytest.raises(ozx.FormatError, match=r"img_t003_c1\.tif: the file is missing"):
        joined(folder)
    result, group = joined(folder, on_error="fill")
    assert group["0"][:, :, 0, 0].tolist() == [[11, 12], [21, 22], [0, 0]]
    assert len(result.damage) == 2


HUGE = {f"img_t{t}": 20 for t in (1, 2, 10**40)}


@pytest.mark.parametrize(
    ("widths", "on_error", "message"),
    [
        ({"e_s1": 21, "e_s2": 22}, "fail", "expected uint16 of 16×21, as in the other files; found uint16 of 16×22"),
        ({"img_t1": 20, "img_t01": 20, "img_t2": 20}, "fail", r"img_t01\.tif and img_t1\.tif have the same place: t 1"),
        (HUGE, "fail", "no file has t 3"),
        (HUGE, "fill", "no file has t 3"),
    ],
)
def test_files_that_make_no_image_are_an_error(tmp_path, widths, on_error, message):
    for name, width in widths.items():
        write_plane(tmp_path / "f" / f"{name}.tif", 1, (16, width))
    with pytest.raises(ozx.FormatError, match=message):
        ozx.import_image(tmp_path / "f", on_error=on_error)


def test_many_gaps_do_not_make_huge_images():
    places = {str(t): {"t": str(t)} for t in (0, 1, 3_000_000, 6_000_000)}
    with pytest.raises(ozx.FormatError, match="no file has t 2"):
        make_grid("f", places, is_filled=True)


def test_one_image_of_a_series_is_chosen(tmp_path, joined):
    for s in (1, 2):
        write_plane(tmp_path / "f" / f"e_s{s}.tif", s)
    assert joined(tmp_path / "f", series=1)[1]["0"][0, 0] == 2
    with pytest.raises(ozx.UsageError, match="from 0 to 1; got 2"):
        ozx.import_image(tmp_path / "f", series=2)


def test_axes_name_the_pages_of_each_file(tmp_path, joined):
    for c in (1, 2):
        write_plane(tmp_path / "f" / f"s_c{c}.tif", c, (5, *SHAPE))
    assert "→ c 2, z 5" in joined(tmp_path / "f")[0].joined
    assert axes_of(joined(tmp_path / "f", axes="tyx", force=True)[0].path)[:2] == [("t", 5), ("c", 2)]
    with pytest.raises(ozx.UsageError, match="the 3 axes of each file, 5×16×20; got yx"):
        joined(tmp_path / "f", axes="yx", force=True)


def test_other_processes_read_the_same_pixels(tmp_path):
    with open_images(str(write_planes(tmp_path)), ReadingOptions()) as found:
        source = found.images[0].sources[0]
        again = pickle.loads(pickle.dumps(source))
        part = (slice(1, 3), slice(1, 2), slice(0, 4), slice(2, 9))
        assert np.array_equal(again.read(part), source.read(part))


def test_a_folder_that_was_imported_is_skipped(tmp_path):
    folder = write_planes(tmp_path / "f")
    (result,) = ozx.import_images([folder], out_dir=tmp_path / "out").results
    again, other = ozx.import_images([folder, tmp_path / "absent"], out_dir=tmp_path / "out", resume=True).results
    assert (again.status, again.path, other.status) == ("skipped", result.path, "failed")


@pytest.mark.parametrize("version", ["1.4", "2.0"])
def test_positions_of_micro_manager_become_a_series(tmp_path, joined, version):
    result, group = joined(write_micro_manager(tmp_path / "acq_1", version=version))
    assert (result.images, result.notes) == (2, ())
    assert result.joined == "24 files → 2 images of t 2, c 2, z 3, y 16, x 20"
    for p, t, c, z in product((0, 1), (0, 1), (0, 1), (0, 1, 2)):
        assert group[f"{p}/0"][t, c, z, 0, 0] == 1000 * p + 100 * t + 10 * z + c
    image = ozx.open_image(result.path, "1")
    assert image.name == "Pos1"
    assert image.scale == pytest.approx((5, 1, 2, 0.65, 0.65))
    assert [(channel.name, channel.color) for channel in image.channels] == [("DAPI", "0000FF"), ("GFP", "00FF00")]
    (scales,) = (each["coordinateTransformations"] for each in group["1"].attrs["ome"]["multiscales"][0]["datasets"])
    assert scales[1]["translation"] == [0, 0, 0, -50, 100.5]


def test_positions_are_in_the_order_of_their_numbers(tmp_path, joined):
    for s in (2, 10, 9):
        write_plane(tmp_path / "f" / f"Pos{s}" / "img1.tif", s)
    _, group = joined(tmp_path / "f", pattern="{s}/img{t}.tif")
    assert [int(group[f"{number}/0"][0, 0, 0]) for number in (0, 1, 2)] == [2, 9, 10]


def test_one_position_of_micro_manager_is_an_image(tmp_path, joined):
    folder = write_micro_manager(tmp_path / "acq_1", version="1.4")
    result, group = joined(folder / "Pos1")
    assert result.images == 1
    assert ozx.open_image(result.path).name == "Pos1"
    assert group["0"][1, 1, 2, 0, 0] == 1121


def test_a_folder_of_data_sets_of_micro_manager_names_the_command_for_each(tmp_path, joined):
    folders = [str(write_micro_manager(tmp_path / "day" / name, version="2.0")) for name in ("acq_1", "acq_2")]
    with pytest.raises(ozx.UsageError, match="it is a directory of 2 data sets of Micro-Manager") as caught:
        joined(tmp_path / "day")
    assert caught.value.hint == f"Run: ozx import {' '.join(map(quote, folders))} --out-dir imported"
    assert [ozx.import_image(folder).images for folder in folders] == [2, 2]


@pytest.mark.parametrize("end", [-1, -2])
def test_metadata_of_a_stopped_acquisition_lack_their_end(tmp_path, joined, end):
    folder = write_micro_manager(tmp_path / "acq_1", version="1.4") / "Pos0"
    text = (folder / "metadata.txt").read_text()
    (folder / "metadata.txt").write_text(text[:end])
    if end == -1:
        assert joined(folder)[0].images == 1
    else:
        with pytest.raises(ozx.FormatError, match=r"metadata\.txt: expected the JSON of Micro-Manager"):
            joined(folder)


def test_a_file_that_the_metadata_name_but_is_absent_is_named(tmp_path, joined):
    folder = write_micro_manager(tmp_path / "acq_1", version="1.4")
    (folder / "Pos1" / "img_000000001_GFP_002.tif").unlink()
    write_plane(folder / "Pos1" / "snap.tif", 1)
    with pytest.raises(ozx.FormatError, match=r"img_000000001_GFP_002\.tif: the file is missing"):
        joined(folder)
    result, group = joined(folder, on_error="fill")
    assert len(result.damage) == 1
    assert not group["1/0"][1, 1, 2].any()
    assert "1 other file of the folder is left out: Pos1/snap.tif" in result.notes


def frames(*names: str) -> dict[str, object]:
    """Return the entries of one file for each time point."""
    return {f"FrameKey-{t}-0-0": {"FileName": name} for t, name in enumerate(names)}


def test_the_first_file_may_be_absent(tmp_path, joined):
    write_plane(tmp_path / "f" / "b.tif", 7)
    (tmp_path / "f" / "metadata.txt").write_text(json.dumps(frames("a.tif", "b.tif")))
    result, group = joined(tmp_path / "f", on_error="fill")
    assert len(result.damage) == 1
    assert group["0"][:, 0, 0].tolist() == [0, 7]


def test_names_in_the_metadata_stay_in_the_folder(tmp_path, joined):
    write_plane(tmp_path / "f" / "a.tif", 7)
    names = frames("D:a.tif", "D:\\scans\\b.tif", "../c.tif")
    for name in ("b.tif", "c.tif"):
        write_plane(tmp_path / "f" / name, 8)
    (tmp_path / "f" / "metadata.txt").write_text(json.dumps(names))
    assert joined(tmp_path / "f")[1]["0"][:, 0, 0].tolist() == [7, 8, 8]


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        '{"FrameKey-0-0-0": {}}',
        '{"FrameKey-a": {"FileName": "a.tif"}}',
        '{"FrameKey-%s-0-0": {"FileName": "a.tif"}}' % ("1" * 5000),
        json.dumps(frames("a.tif", "a.tif")),
        '{"a": [}',
        '{"a":' + "[" * 100_000,
    ],
)
def test_other_metadata_are_refused(tmp_path, text):
    folder = write_planes(tmp_path / "f")
    (folder / "metadata.txt").write_text(text)
    with pytest.raises(ozx.FormatError, match=r"metadata\.txt"):
        ozx.import_image(folder)


@pytest.mark.parametrize("key", ["Summary", "PixelSizeUm", "ChNames", "ChColors", "StagePositions", "XPositionUm"])
@pytest.mark.parametrize("value", [None, "text", -1, [1], {"a": 1}, 1e400, pytest.param(10**400, id="huge")])
def test_malformed_values_of_micro_manager_lose_no_pixels(tmp_path, joined, key, value):
    folder = write_micro_manager(tmp_path / "acq_1", version="1.4") / "Pos0"
    document = json.loads((folder / "metadata.txt").read_text())
    for entry in [*document.values(), *([document] if key == "Summary" else [])]:
        entry[key] = value
    (folder / "metadata.txt").write_text(json.dumps(document))
    assert joined(folder)[1]["0"][1, 1, 2, 0, 0] == 121


def test_an_ndtiff_is_read_by_its_index(tmp_path, joined):
    result, group = joined(write_ndtiff(tmp_path / "a_1"))
    assert result.images == 2
    assert group["1/0"][:, :, 0, 0].tolist() == [[100, 110, 120], [101, 111, 121]]
    image = ozx.open_image(result.path, "1")
    assert [channel.name for channel in image.channels] == ["DAPI", "GFP"]
    assert image.scale == pytest.approx((1, 2, 0.65, 0.65))


def write_harmony(folder: Path) -> Path:
    """Write a plate of two wells with two fields and two channels as Harmony does; return its index."""
    folder.mkdir()
    images = []
    for (row, column), field, channel in product(((1, 1), (2, 3)), (1, 2), (1, 2)):
        name = f"r{row:02}c{column:02}f{field:02}p01-ch{channel}sk1fk1fl1.tiff"
        tifffile.imwrite(folder / name, np.full((16, 20), 100 * row + 10 * field + channel, "uint16"))
        tags = {"URL": name, "Row": row, "Col": column, "FieldID": field, "PlaneID": 1, "TimepointID": 0}
        tags |= {"ChannelID": channel, "ChannelName": ["DAPI", "GFP"][channel - 1], "ImageSizeX": 20, "ImageSizeY": 16}
        inside = "".join(f"<{tag}>{value}</{tag}>" for tag, value in tags.items())
        sizes = "".join(f'<ImageResolution{axis} Unit="m">6.5E-07</ImageResolution{axis}>' for axis in "XY")
        images.append(f'<Image Version="1">{inside}{sizes}</Image>')
    plate = "<PlateID>P1</PlateID><Name>P1</Name><PlateRows>8</PlateRows><PlateColumns>12</PlateColumns>"
    space = "http://www.perkinelmer.com/PEHH/HarmonyV5"
    index = folder / "Index.idx.xml"
    index.write_text(
        f'<?xml version="1.0" encoding="utf-8"?><EvaluationInputData xmlns="{space}" Version="1">'
        f"<Plates><Plate>{plate}</Plate></Plates><Images>{''.join(images)}</Images></EvaluationInputData>"
    )
    return index


@pytest.mark.parametrize("write", [write_image_xpress, write_cell_voyager, write_harmony])
def test_the_index_in_a_folder_gives_a_plate(tmp_path, joined, write):
    pytest.importorskip("openreadout")
    result, _ = joined(write(tmp_path / "screen"))
    assert result.images == 4
    plate = ozx.inspect(result.path).plate
    assert (plate.rows, plate.columns) == (tuple("ABCDEFGH"), tuple(map(str, range(1, 13))))
    field = ozx.open_image(result.path, "B/3/1")
    assert np.unique(field.read()).tolist() == [221, 222]
    assert [channel.name for channel in field.channels] == ["DAPI", "GFP"]
    assert field.scale == pytest.approx((1, 0.65, 0.65))


def test_a_lost_plane_of_an_index_is_named_and_filled(tmp_path, joined):
    pytest.importorskip("openreadout")
    folder = write_image_xpress(tmp_path / "screen")
    (folder / "P1_B03_s2_w1.TIF").unlink()
    with pytest.raises(ozx.FormatError, match="this file is cut off or damaged: 1 of 8 plane files"):
        joined(folder)
    result, group = joined(folder, on_error="fill")
    lost = "the plane file of well B03 field 2, c=0 z=0 t=0 (no file found for it) is not on disk"
    assert f"this file cannot be read: {lost}" in result.damage[-1]
    assert [np.unique(group[f"B/3/{field}/0"][...]).tolist() for field in (0, 1)] == [[211, 212], [0, 222]]


def test_the_file_that_hides_the_size_of_a_plate_is_named(tmp_path, joined):
    pytest.importorskip("openreadout")
    folder = write_cell_voyager(tmp_path / "screen")
    (folder / "P1_A01_T0001F001L01A01Z01C01.tif").write_bytes(b"II")
    with pytest.raises(ozx.FormatError, match=r"the size of the images is unknown: P1_A01_T0001F001L01A01Z01C01\.tif"):
        joined(folder, on_error="fill")
