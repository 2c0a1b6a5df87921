"""The room kept at the head suffices for what the root announces."""

from cases.archive_builder import group

from ozx.store.growing_file import metadata_reserve


def plate(wells, fields):
    names = [{"path": f"A/{n}", "rowIndex": 0, "columnIndex": n} for n in range(wells)]
    ome = {"version": "0.5", "plate": {"wells": names, "rows": [], "columns": [], "field_count": fields}}
    return group(attributes={"ome": ome})


def test_an_absurd_plate_does_not_get_absurd_room():
    assert metadata_reserve({"zarr.json": plate(2, 10**12)}) <= 64 << 20
