"""What becomes of the attributes of OME-Zarr 0.4."""

import pytest
from upgrades import multiscale_of

from ozx.errors import UnsupportedError
from ozx.ome.v2_groups import upgrade_group


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        ({"multiscales": [multiscale_of(version="0.3")]}, r"0\.3 \(multiscales/0\)"),
        ({"multiscales": [{"version": "0.1", "datasets": [{"path": "0"}]}]}, r"0\.1"),
        ({"multiscales": [{"datasets": [{"path": "0"}]}]}, "0.1 or 0.2, which have no axes"),
        ({"multiscales": [multiscale_of(), {"axes": ["y", "x"]}]}, r"0\.3.*multiscales/1"),
        ({"multiscales": [multiscale_of(version="0.5")]}, r"found 0\.5"),
        ({"plate": {"version": "0.2"}}, r"0\.2 \(plate\)"),
        ({"ome": {"version": "0.5", "labels": []}}, r"'ome' of OME-Zarr 0\.5 \(version 0\.5\)"),
        ({"ome": 3}, "unknown"),
    ],
)
def test_other_versions_are_refused_by_name(attributes, said):
    with pytest.raises(UnsupportedError, match=said) as refusal:
        upgrade_group(attributes)
    assert "0.4" in refusal.value.hint
