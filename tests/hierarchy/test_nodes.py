"""Nodes put together from documents of both versions of Zarr."""

from ozx.hierarchy.nodes import NodeCollector

GROUP = b'{"zarr_format": 3, "node_type": "group"}'


def collect(values):
    collector = NodeCollector()
    for key, value in values.items():
        collector.add(key, value)
    return collector.nodes()


def test_a_node_of_both_versions_counts_as_v3():
    nodes = collect({".zgroup": b'{"zarr_format": 2}', "zarr.json": GROUP, ".zattrs": b"{}"})
    assert nodes[""].zarr_format == 3
    assert nodes[""].problems == (
        "it has Zarr v2 metadata beside zarr.json: .zattrs",
        "it has Zarr v2 metadata beside zarr.json: .zgroup",
    )
