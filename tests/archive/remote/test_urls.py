"""URLs: which ones ozx can open."""

import pytest

from ozx.archive.remote.outputs.opening import check_object_url
from ozx.archive.remote.urls import split_url
from ozx.errors import UsageError


@pytest.mark.parametrize("key", ["a//b.ozx", "/b.ozx", "a/../b.ozx", "./b.ozx", "a/%2E%2e/b.ozx", "a//"])
def test_a_key_that_obstore_cannot_name_is_refused(key):
    for scheme in ("s3", "gs", "az"):
        for check in (split_url, check_object_url):
            with pytest.raises(UsageError, match="expected a name without empty parts"):
                check(f"{scheme}://bucket/{key}")


@pytest.mark.parametrize(
    "url", ["s3://bucket", "s3://bucket/", "gs://bucket/folder/", "az://c/a..b/.c/d.", "https://host//a/../b.ozx"]
)
def test_other_urls_are_divided(url):
    assert split_url(url).geturl() == url
