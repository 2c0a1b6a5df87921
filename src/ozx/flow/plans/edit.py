"""Plan the new documents of an archive that is edited."""

from __future__ import annotations

from ozx.errors import FormatError, UnsupportedError, UsageError
from ozx.flow.sources.browsing import ArchiveView, similar_nodes
from ozx.flow.sources.wrong_sources import refuse_images
from ozx.ome.edit.plan import EditPlan, edit_hierarchy
from ozx.ome.edit.request import EditRequest
from ozx.ome.nodes import NodeCollector, ome_at
from ozx.zarr.keys import DRAW_AGAIN, ORIGINAL_METADATA, THUMBNAIL


def plan_edit(view: ArchiveView, edits: EditRequest, node: str = "") -> tuple[EditPlan, tuple[str, ...]]:
    """Return the edited documents of an archive, and notes about the archive; nothing is written."""
    collector, items = NodeCollector(), {}
    for item in view.iter_items(metadata_only=True):
        items[item.key] = item
        try:
            collector.add(item.key, view.read_document(item))
        except (FormatError, UnsupportedError) as error:
            if isinstance(error, FormatError) and error.rule == "zarr/json":
                raise  # too long: a store that writes holds all documents in memory
            collector.add_problem(item.key, error.message)
    nodes = collector.nodes()

    def read(key: str) -> bytes | None:
        return view.read_document(items[key]) if key in items else None

    if node and node not in nodes:
        raise UsageError(f"expected a node to edit; there is no {node!r}", hint=similar_nodes(node, nodes))
    if not nodes:
        refuse_images((item.key for item in view.iter_items()), view.source.name, is_folder=False)
    plan = edit_hierarchy(nodes, read, edits, node)
    notes = list(plan.notes)
    is_converted = ome_at(nodes, "").layout is not None
    if plan.new and is_converted and view.find(ORIGINAL_METADATA) is not None:
        notes.append(f"{ORIGINAL_METADATA} is kept: it still describes the original file")
    if any(difference.is_visible for difference in plan.differences) and view.find(THUMBNAIL) is not None:
        notes.append(f"{THUMBNAIL} is kept: it still shows the old colors; {DRAW_AGAIN}")
    return plan, tuple(notes)
