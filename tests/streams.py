"""Frames for streams, and comparisons with the file of a stream."""

import time

import numpy as np

import ozx


def wait_until_encoded(frames):
    """Wait until no frame of a stream is in memory."""
    while frames.buffered:
        time.sleep(0.001)


def layout_of(path, node=""):
    """Return the arguments with which `ozx.write_image` makes the chunks and shards of a file's full resolution."""
    array = ozx.open_array(path, f"{node}/0".lstrip("/"))
    names = array.metadata.dimension_names
    words = {"chunks": dict(zip(names, array.chunks, strict=True)), "shards": "none"}
    if array.shards is not None:
        words["shards"] = dict(zip(names, array.shards, strict=True))
    return words


def assert_same_images(path, other, node="", *, windows=True, metadata=True):
    """Compare pixels and (with `metadata`) OME metadata of two files; with `windows`, the contrast, too."""
    group = ozx.open(path)[node] if node else ozx.open(path)
    expected = ozx.open(other)
    assert sorted(group.array_keys()) == sorted(expected.array_keys())
    for level in expected.array_keys():
        found, wanted = group[level], expected[level]
        assert (found.dtype, found.metadata.dimension_names) == (wanted.dtype, wanted.metadata.dimension_names)
        np.testing.assert_array_equal(found[...], wanted[...])
    if metadata:
        assert ome_of(group, windows) == ome_of(expected, windows)


def ome_of(group, windows):
    """Return the OME-Zarr metadata of a group, without the contrast unless it is asked for."""
    ome = group.attrs.asdict()["ome"]
    for image in ome["multiscales"]:
        image.pop("name")
    for channel in () if windows else ome.get("omero", {}).get("channels", ()):
        channel.pop("window")  # of floating-point pixels, also its ends come from the sampled pixels
    return ome


def assert_valid(path):
    """Assert that a file is valid, including its values."""
    report = ozx.validate(path, level="data")
    assert not [finding for finding in report.findings if finding.severity == "error"], report.findings
