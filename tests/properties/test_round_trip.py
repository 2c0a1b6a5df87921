"""Random hierarchies: what goes in comes out, in the same bytes, whatever the names and sizes."""

import io
import string
import zipfile

from cases.archive_builder import group, write_tree
from hierarchies import tree
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ozx
from ozx.archive.names.decoding import name_fault
from ozx.flow.sources.listing import is_litter
from ozx.zarr.entry_order import hierarchy_order
from ozx.zarr.keys import breadth_first, is_metadata_key

# Names that a file system takes as they are; no litter, no archives, nothing that Zarr v2 or we use.
LETTERS = string.ascii_letters + string.digits + " -_+,;=@()[]{}'!$%&éßÅ日本✓\u0301"
components = (
    st.text(LETTERS, min_size=1, max_size=12)
    .filter(lambda name: not name_fault(name) and len(name.encode()) < 200)
    .filter(lambda name: not name.lower().endswith((".ozx", ".zip")))
    .filter(lambda name: not is_litter(name))
    .filter(lambda name: not name.startswith("__"))  # Zarr core 3.1, "Node names": reserved
)
components = st.one_of(components, st.integers(0, 120).map(str), st.sampled_from(["c", "0", "labels", "OME"]))
keys = st.lists(components, min_size=1, max_size=5).map("/".join)
values = st.one_of(st.binary(max_size=60), st.integers(0, 30_000).map(lambda size: b"\x01\x02\x03" * size))


@st.composite
def hierarchies(draw):
    """Random groups, reached from the root, and random values anywhere."""
    result = {"zarr.json": group()}
    for node in draw(st.lists(st.lists(components, min_size=1, max_size=3), max_size=4)):
        for depth in range(1, len(node) + 1):
            result["/".join(node[:depth]) + "/zarr.json"] = group(None)
    for key in draw(st.lists(keys, max_size=12)):
        if not is_metadata_key(key):
            result[key] = draw(values)
    folders = {"/".join(key.split("/")[:depth]) for key in result for depth in range(1, key.count("/") + 1)}
    return {key: data for key, data in result.items() if key not in folders}


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=hierarchies())
def test_what_goes_in_comes_out(tmp_path_factory, content):
    folder = tmp_path_factory.mktemp("h")
    write_tree(folder / "h", content)
    packed = ozx.pack(folder / "h", folder / "a.ozx", sync=False)
    data = (folder / "a.ozx").read_bytes()
    assert ozx.pack(folder / "h", folder / "b.ozx", sync=False).bytes == len(data)
    assert (folder / "b.ozx").read_bytes() == data
    assert tree(ozx.unpack(packed.path, folder / "out", sync=False).path) == content
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = archive.namelist()
        assert {name: archive.read(name) for name in names} == content
    metadata = sorted(filter(is_metadata_key, content), key=breadth_first)
    assert names == metadata + sorted((key for key in content if not is_metadata_key(key)), key=hierarchy_order)
    assert not [finding for finding in ozx.validate(packed.path).findings if finding.severity == "error"]


@settings(deadline=None, max_examples=300)
@given(st.lists(keys, unique=True, max_size=30))
def test_the_orders_are_total_and_keep_parents_first(names):
    ordered = sorted(names, key=hierarchy_order)
    names.reverse()
    assert ordered == sorted(names, key=hierarchy_order)
    metadata = sorted((f"{name}/zarr.json" for name in names), key=breadth_first)
    positions = {key: position for position, key in enumerate(metadata)}
    for key in metadata:
        parent = key.removesuffix("/zarr.json").rpartition("/")[0] + "/zarr.json"
        assert positions.get(parent, -1) < positions[key]
