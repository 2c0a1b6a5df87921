"""Hostile metadata: whatever stands in a zarr.json, there are findings, in bounded time, and never a traceback."""

import functools
import json

import pytest
from cases.archive_builder import array, group, write_tree

from ozx.cli.app import run
from ozx.validation.validate import validate

NESTED = b'{"a":' * 50_000 + b"1" + b"}" * 50_000
HOSTILE = {
    "nested objects": NESTED,
    "nested arrays": b'{"zarr_format": 3, "node_type": "array", "codecs": ' + b"[" * 900 + b"]" * 900 + b"}",
    "nested shards": json.dumps(
        functools.reduce(
            lambda inside, _: {"name": "sharding_indexed", "configuration": {"codecs": [inside], "chunk_shape": [1]}},
            range(150),
            {"name": "bytes"},
        )
    )
    .join(['{"zarr_format": 3, "node_type": "array", "shape": [4], "codecs": [', "]}"])
    .encode(),
    "a number of 100,000 digits": b'{"zarr_format": ' + b"9" * 100_000 + b"}",
    "a number of 4,000 digits": b'{"zarr_format": ' + b"9" * 4000 + b"}",
    "huge lengths": b'{"zarr_format": 3, "node_type": "array", "shape": [1e999, 9223372036854775808, -1]}',
    "huge exponents": b'{"zarr_format": 3, "node_type": "array", "shape": [1e400000000]}',
    "a string of 10 MB": b'{"zarr_format": "' + b"x" * 10_000_000 + b'", "node_type": "' + b"y" * 10_000_000 + b'"}',
    "a name of 10 MB": b'{"zarr_format": 3, "node_type": "group", "' + b"x" * 10_000_000 + b'": 1}',
    "20,000 names": json.dumps(
        {"zarr_format": 3, "node_type": "group"} | {f"n{number}": number for number in range(20_000)}
    ).encode(),
    "20,000 codecs": b'{"zarr_format": 3, "node_type": "array", "codecs": [' + b"5," * 20_000 + b"5]}",
    "duplicates": b'{"zarr_format": 3, "node_type": "group", ' + b'"a": 1, ' * 1000 + b'"a": 2}',
    "NaN": b'{"zarr_format": NaN, "node_type": -Infinity}',
    "lone surrogates": b'{"zarr_format": 3, "node_type": "gr\\ud800oup", "\\udfff": "\\ud800"}',
    "lone surrogates too": b'{"zarr_format": 3, "node_type": "array", "codecs": ["\\ud800"], "data_type": "\\udc00"'
    b', "dimension_names": "\\ud800", "fill_value": "\\ud800", "extensions": [{"name": "\\ud800"}]}',
    "NUL": b'{"zarr_format": 3, "node_type": "\\u0000"}',
    "no JSON": b"\x00\x01\x02",
    "UTF-16": '{"zarr_format": 3}'.encode("utf-16"),
    "a byte order mark": b'\xef\xbb\xbf{"zarr_format": 3}',
    "nothing": b"",
    "null": b"null",
}


@pytest.mark.ci
@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("key", ["zarr.json", "0/zarr.json"])
def test_hostile_json_ends_in_findings(tmp_path, name, key, capsys):
    values = {"zarr.json": group(), "0/zarr.json": array([4], [4]), "0/c/0": b"abcd"} | {key: HOSTILE[name]}
    report = validate(write_tree(tmp_path / "cells.zarr", values), level="data")
    assert not report.valid
    assert len(report.findings) < 200
    assert max(len(finding.message) for finding in report.findings) < 2000
    assert run(["validate", str(tmp_path / "cells.zarr"), "--json"]) == 1
    assert run(["validate", str(tmp_path / "cells.zarr")]) == 1
    assert "Traceback" not in capsys.readouterr().err
