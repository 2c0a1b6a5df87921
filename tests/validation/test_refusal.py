"""Warnings do not keep a hierarchy from being written; the first error does."""

import json

import pytest

from ozx.errors import FormatError
from ozx.validation.cases.archive_builder import group
from ozx.validation.refusal import refuse_errors
from ozx.validation.rfc9_rules import check_metadata


def test_what_has_no_errors_passes():
    assert refuse_errors({"zarr.json": group()}, path="cells.zarr") is None


def test_the_first_error_is_raised_with_its_rule():
    metadata = {"zarr.json": json.dumps({"zarr_format": 3, "node_type": "group", "attributes": {}}).encode()}
    first = next(finding for finding in check_metadata(metadata) if finding.severity == "error")
    with pytest.raises(FormatError) as caught:
        refuse_errors(metadata, path="cells.zarr")
    assert (caught.value.rule, caught.value.hint, caught.value.path) == (first.id, first.hint, "cells.zarr")
