"""Names of archives as keys: the proof for thousands of names at once overlooks none that needs a closer look."""

import numpy as np
import pytest
from cases.archive_builder import UTF8, Member
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ozx.archive.columns import parse_columns
from ozx.errors import FormatError
from ozx.flow.repair import names as repaired_names
from ozx.flow.repair.names import repair_names


def outcome(names):
    """Return all there is to know of names once repaired, or why they are refused."""
    headers = [Member(name, flags=0 if name.isascii() else UTF8).central_header(0) for name in names]
    try:
        repaired = repair_names(parse_columns(b"".join(headers), len(headers)), "a.zip")
    except FormatError as error:
        return error.rule
    found = list(repaired.names.iter_raw_names()), repaired.rows.tolist(), repaired.legacy, repaired.litter
    return (*found, {fault: count for fault, (_, count) in repaired.faults.items()})


PARTS = """
. .. c 10 zarr.json .zgroup C: .DS_Store __MACOSX _x Thumbs.db thumbs.DB desktop.ini x.iNi a~ #a# ._x 0.d
é cells.ome.zarr a.ozx a.ZIP zip .zip
"""
components = st.one_of(st.sampled_from(["", *PARTS.split()]), st.text("./\\:~#_aZ0\0é", max_size=4))
names = st.tuples(st.lists(components, min_size=1, max_size=4), st.sampled_from("//\\")).map(
    lambda pair: pair[1].join(pair[0]).encode()
)


@pytest.mark.ci
@settings(deadline=None, max_examples=600)
@example([b"./"])
@example([b"./a", b".\\a", b"././a"])
@given(st.lists(names, max_size=4))
def test_the_proof_overlooks_nothing(names):
    quick = outcome(names)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(repaired_names, "_find_suspects", lambda table: np.arange(len(table)))
        assert outcome(names) == quick
