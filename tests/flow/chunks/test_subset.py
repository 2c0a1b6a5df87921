"""Boxes cut out of arrays, judged by zarr-python and tensorstore, and by the encoded chunks."""

import json
from pathlib import Path

import numpy as np
from resharding import directory_source, same, stored_chunks, values, write_array

from ozx.flow.chunks.subset import iter_cropped
from ozx.hierarchy.subset.levels import Box, Picked, crop_document
from ozx.hierarchy.zarr.layout import parse_layout


def pixels(*shape):
    return np.random.default_rng(9).integers(1, 60_000, shape).astype("<u2")


def cut_to_directory(source, target, cut):
    document, layout, stored = stored_chunks(source)
    new = crop_document(document, layout, cut)
    target = Path(target)
    (target / "0").mkdir(parents=True)
    (target / "0/zarr.json").write_text(json.dumps(new))
    keys = []
    for entry in iter_cropped(stored, cut, parse_layout(new, "0")):
        file = target / entry.key
        file.parent.mkdir(parents=True, exist_ok=True)
        data = b"".join(entry.iter_blocks())
        assert len(data) == entry.size
        file.write_bytes(data)
        keys.append(entry.key)
    assert len(set(keys)) == len(keys)
    return new


def test_shards_between_picked_chunks_are_not_even_opened(tmp_path):
    data = pixels(6, 8)
    write_array(tmp_path / "a", data, (1, 4), shards=(1, 8))
    for channel in (1, 2, 4, 5):
        (tmp_path / f"a/0/c/{channel}/0").write_bytes(b"no shard")
    cut = Box((0, 0), (2, 8), Picked(0, (0, 3)))
    cut_to_directory(directory_source(tmp_path / "a"), tmp_path / "b", cut)
    assert same(values(tmp_path / "b"), data[[0, 3]])
