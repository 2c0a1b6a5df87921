"""The first inputs of fuzzing: archives made by the recipes of tests/hostile, and the documents of the fixtures."""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "hostile")]

from cases.archive_builder import ArchiveBuilder, array, group
from recipes import RECIPES

from ozx.zarr.layout import build_index

LARGEST = 2_000


def seeds() -> dict[str, dict[str, bytes]]:
    """Return the first inputs by target and name."""
    archives = {recipe.name: recipe.archive for recipe in RECIPES if not recipe.name.startswith(("key:", "Windows:"))}
    archives["valid"] = ArchiveBuilder.valid().build()
    small = {name: data for name, data in archives.items() if len(data) < LARGEST}
    heads = {name: data[: data.rindex(b"PK\x01\x02")] for name, data in small.items() if b"PK\x01\x02" in data}
    fixtures = [*ROOT.glob("fixtures/*/zarr.json"), *ROOT.glob("fixtures/*/0/zarr.json")]
    documents = {path.parent.parent.name + path.parent.name: path.read_bytes() for path in fixtures}
    documents |= {"group": group(), "array": array([8, 8], [4, 4], sharded=True)}
    legacy = ROOT / "fixtures" / "legacy.ome.zarr"
    names = (".zgroup", ".zattrs", "0/.zarray", "0/.zattrs")
    documents["old"] = json.dumps(
        {n: json.loads((legacy / n).read_bytes()) for n in names if (legacy / n).exists()}
    ).encode()
    indexes = {
        "end": bytes([4, 2, 1, 200]) + build_index([0, 9], [9, 20]),
        "start": bytes([5, 1, 1, 90]) + build_index([30], [9]),
    }
    indexes["empty"] = bytes([4, 1, 1, 99]) + build_index([0], [0])
    compact = {name: json.dumps(json.loads(data)).encode() for name, data in documents.items()}
    from every_verb import VERBS, images

    count = len(VERBS) + 1
    hierarchies = {
        f"{number}": {key: json.loads(value) for key, value in values.items() if value[:1] == b"{"}
        | {"verb": number * count + 7 * number % count}
        for number, values in enumerate(images())
    }
    given = {name: json.dumps(documents).encode() for name, documents in hierarchies.items()}
    return {"verbs": given, "directory": small, "local_headers": heads, "shard_index": indexes, "zarr_json": compact}
