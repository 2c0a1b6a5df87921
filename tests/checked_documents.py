"""All findings about documents of a hierarchy that stand in no file."""

from collections.abc import Iterator, Mapping

from ozx.hierarchy.keys import is_metadata_key
from ozx.validation.hierarchy import DEFAULTS, NodeRules, Options
from ozx.validation.nodes.facts import Hierarchy, read_legacy_nodes, read_nodes
from ozx.validation.report import Finding
from ozx.validation.rules.findings import finding_from_error


def check_documents(metadata: Mapping[str, bytes], options: Options = DEFAULTS) -> Iterator[Finding]:
    """Yield findings about every ``zarr.json``, or the documents of Zarr v2; each key is looked up once."""
    rules = NodeRules(options)
    is_v3 = any(map(is_metadata_key, metadata))
    nodes, faults = read_nodes(metadata, look=rules.look) if is_v3 else read_legacy_nodes(metadata, (), rules.look)
    for fault in faults:
        yield finding_from_error(fault.error, entry=fault.key)
    yield from rules.findings(Hierarchy(nodes))
