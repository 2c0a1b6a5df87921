"""`validate` of URLs: what it says of the file itself."""

import pytest
from servers import serving

from ozx.errors import ResourceError
from ozx.operations.pack import pack
from ozx.validation.report import LEVELS
from ozx.validation.validate import validate

pytest.importorskip("obstore", reason="the extra remote is not installed")


@pytest.mark.parametrize("level", LEVELS)
def test_a_url_is_checked_as_the_file_is(image, tmp_path, level):
    path = tmp_path / "cells.ozx"
    pack(image, path)
    local = validate(path, level=level)
    with serving(path.read_bytes()) as server:
        remote = validate(server.url + "?signature=SECRET", level=level)
    assert remote.path == server.url
    assert remote.findings == local.findings


def test_a_url_without_a_file_is_no_finding():
    with serving(b"") as server, pytest.raises(ResourceError):
        server.failures = [404] * 20
        validate(server.url)
