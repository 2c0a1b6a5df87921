"""Parts of hierarchies as they are before they are written; sources of what is below a node."""

import pytest
from hierarchies import FIXTURES, tree
from packed import pack_tree, sort_values

from ozx.flow.entry import read_part
from ozx.flow.plans.subset import Extractor, Subtree
from ozx.flow.repair.hierarchy import open_repaired
from ozx.flow.workers import Workers
from ozx.hierarchy.subset.region import LevelChoice, Selection, parse_region

#: Nothing is transcoded.
NO_WORKERS = Workers(1, None)
PLATE = FIXTURES / "plate.ome.zarr"


@pytest.mark.parametrize("node", ["", "A", "A/1/0"])
def test_a_subtree_is_a_source(tmp_path, node):
    prefix = f"{node}/" if node else ""
    values = {key.removeprefix(prefix): value for key, value in tree(PLATE).items() if key.startswith(prefix)}
    with open_repaired(pack_tree(PLATE, tmp_path / "a.ozx")) as packed, open_repaired(PLATE) as directory:
        for source in (packed, directory):
            part = Subtree(source, node)
            assert len(part) == len(values)
            assert list(part.iter_keys()) == list(sort_values(values))
            assert part.name == f"{source.name}/{node}".rstrip("/")
            assert {key: part.read(key) for key in part.iter_keys()} == values
            assert "zarr.json" in part
            assert "B/zarr.json" not in Subtree(source, "A")
            for key, value in values.items():
                assert part.size(key) == len(value)
                assert read_part(part.part(key, 1, 2)) == value[1:3]
                assert (part.entry(key).key, b"".join(part.entry(key).iter_blocks())) == (key, value)
            assert [read_part(found) for found in part.parts(list(values))] == list(values.values())
            assert {part.crc32("zarr.json")} <= {None, packed.crc32(f"{prefix}zarr.json")}


def test_entries_and_metadata_of_an_extraction():
    with open_repaired(PLATE) as source:
        part = Extractor(source, "A/1").take(Selection(LevelChoice(0, 1), parse_region("y=:32")))
        entries = {entry.key: entry for entry in part.iter_entries(NO_WORKERS)}
        assert list(entries)[: len(part.metadata)] == list(part.metadata)
        assert list(part.metadata) == ["zarr.json", "0/zarr.json", "1/zarr.json", "0/0/zarr.json", "1/0/zarr.json"]
        assert sorted(key for key in entries if "/c/" in key)[:4] == [
            f"0/0/c/{c}/0/{x}" for c in (0, 1) for x in (0, 1)
        ]
        assert "0/1/zarr.json" not in part.metadata
        assert "0/0/c/0/0/0" not in part.metadata
        assert part.version == "0.5"
        assert not part.legacy_keys
        whole = part.count_bytes()
        assert part.count_within(whole) == whole
        assert part.count_within(1000) > 1000


def test_the_whole_is_the_source():
    with open_repaired(PLATE) as source:
        part = Extractor(source).take(Selection())
        assert {entry.key: b"".join(entry.iter_blocks()) for entry in part.iter_entries(NO_WORKERS)} == tree(PLATE)
        assert not part.notes
        source.check_unchanged()
