"""Parts of hierarchies as they are before they are written; sources of what is below a node."""

import pytest
from hierarchies import FIXTURES, tree
from packed import pack_tree, sort_values

from ozx.flow.entry import read_part
from ozx.flow.plans.subset import Subtree
from ozx.flow.repair.hierarchy import open_repaired
from ozx.flow.sources.location import Place

PLATE = FIXTURES / "plate.ome.zarr"


@pytest.mark.parametrize("node", ["", "A", "A/1/0"])
def test_a_subtree_is_a_source(tmp_path, node):
    prefix = f"{node}/" if node else ""
    values = {key.removeprefix(prefix): value for key, value in tree(PLATE).items() if key.startswith(prefix)}
    with (
        open_repaired(Place.parse(pack_tree(PLATE, tmp_path / "a.ozx"))) as packed,
        open_repaired(Place.parse(PLATE)) as directory,
    ):
        for source in (packed, directory):
            part = Subtree(source, node)
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
