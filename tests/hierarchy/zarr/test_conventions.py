"""What conventions are called, whatever stands in their place."""

import pytest

from ozx.hierarchy.zarr.array import convention_names

UUID = "f010a634-3525-416e-9320-8f44b5bc352c"


@pytest.mark.parametrize(
    ("attributes", "names"),
    [
        ({}, ()),
        (None, ()),
        ({"zarr_conventions": [{"name": "proj", "uuid": UUID}]}, ("proj",)),
        ({"zarr_conventions": [{"uuid": UUID, "schema_url": "s", "spec_url": "p"}]}, (UUID,)),
        ({"zarr_conventions": [{"schema_url": "s", "spec_url": "p"}]}, ("s",)),
        ({"zarr_conventions": [{"spec_url": "p"}, {"spec_url": "p"}]}, ("p",)),
        ({"zarr_conventions": [{}, 5, None, {"name": ""}, {"name": 7, "uuid": UUID}]}, (UUID,)),
        ({"zarr_conventions": {"name": "proj"}}, ()),
        ({"zarr_conventions_metadata": {UUID: {"name": "proj"}}}, ("proj",)),
        ({"zarr_conventions_metadata": {UUID: {}}}, (UUID,)),
        ({"zarr_conventions_metadata": {UUID: 5}}, (UUID,)),
        ({"zarr_conventions_metadata": [UUID]}, ()),
    ],
)
def test_names(attributes, names):
    assert convention_names(attributes) == names
