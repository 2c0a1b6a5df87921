"""URLs: which ones ozx can open."""

import pytest

from ozx.errors import UsageError
from ozx.places.remote.folder import RemoteFolder
from ozx.places.remote.source import RemoteSource
from ozx.places.remote.urls import check_object_url, split_key_url, split_url


@pytest.mark.parametrize("key", ["a//b.ozx", "/b.ozx", "a/../b.ozx", "./b.ozx", "a/%2E%2e/b.ozx", "a//"])
def test_a_key_that_obstore_cannot_name_is_refused(key):
    for scheme in ("s3", "gs", "az"):
        for check in (split_key_url, check_object_url, RemoteSource, RemoteFolder):
            with pytest.raises(UsageError, match="the name has "):
                check(f"{scheme}://bucket/{key}")
        assert split_url(f"{scheme}://bucket/{key}").netloc == "bucket"  # as in the record of an earlier upload
