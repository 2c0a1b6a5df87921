"""Attributes that an archive does not keep, and the refusal to remove their files."""

import os
import struct

import pytest
from hierarchies import make_image

from ozx.errors import UsageError
from ozx.flow.source_removal import check_no_attributes
from ozx.operations.pack import pack

# Version 2; entries of tag, permissions, number: owner rw, user 1234 rw, group r, mask rw, others r.
_ENTRIES = [(1, 6, 0xFFFFFFFF), (2, 6, 1234), (4, 4, 0xFFFFFFFF), (16, 6, 0xFFFFFFFF), (32, 4, 0xFFFFFFFF)]
ACCESS_LIST = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in _ENTRIES)


def set_attribute(path, name, value):
    try:
        os.setxattr(path, name, value)
    except (AttributeError, OSError) as error:
        pytest.skip(f"no such attributes here: {error}")


@pytest.fixture
def image(tmp_path):
    return make_image(tmp_path / "cells.ome.zarr")


@pytest.mark.posix("there are no such attributes")
def test_an_attribute_of_a_file_and_of_a_folder(image):
    set_attribute(image / "zarr.json", "user.owner", b"ada")
    set_attribute(image / "0", "user.project", b"x")
    with pytest.raises(UsageError, match=r"zarr.json \(user.owner\).*0 \(user.project\)"):
        check_no_attributes(str(image))


@pytest.mark.posix("there are no such attributes")
def test_an_access_control_list(image):
    set_attribute(image / "zarr.json", "system.posix_acl_access", ACCESS_LIST)
    with pytest.raises(UsageError, match=r"zarr.json \(access control list\)"):
        check_no_attributes(str(image))


def test_nothing_is_written_or_removed_unless_they_may_be_lost(image, tmp_path):
    os.link(image / "zarr.json", tmp_path / "other.json")
    message = r"attributes that an archive does not keep would be lost.*: zarr.json \(hard links: 2\)"
    with pytest.raises(UsageError, match=message) as caught:
        pack(image, remove_source=True)
    assert "drop_attributes=True" in caught.value.hint
    assert sorted(os.listdir(tmp_path)) == ["cells.ome.zarr", "other.json"]
    assert pack(image, tmp_path / "copy.ozx").path  # without removal, nothing is lost
    result = pack(image, remove_source=True, drop_attributes=True)
    assert result.source_removed
    assert (tmp_path / "other.json").exists()


@pytest.mark.posix("there are no such attributes")
def test_a_new_file_gets_the_group_and_the_access_list_of_its_folder(image, tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    set_attribute(folder, "system.posix_acl_default", ACCESS_LIST)
    if os.geteuid() == 0:
        os.chown(folder, -1, 4321)
    folder.chmod(0o2775)
    (folder / "plain").touch()
    expected = (folder / "plain").stat()
    path = folder / "cells.ozx"
    pack(image, path, checksum="sha256", manifest=True)
    for made in (path, folder / "cells.ozx.sha256", folder / "cells.ozx.manifest.json"):
        status = made.stat()
        assert (status.st_mode, status.st_gid) == (expected.st_mode, expected.st_gid)
        assert os.getxattr(made, "system.posix_acl_access") == os.getxattr(folder / "plain", "system.posix_acl_access")
    unpacked = tmp_path / "out" / "back.ome.zarr"
    from ozx.operations.unpack import unpack  # noqa: PLC0415

    unpack(path, unpacked)
    assert (unpacked / "zarr.json").stat().st_gid == expected.st_gid
    assert os.getxattr(unpacked / "0", "system.posix_acl_default") == ACCESS_LIST
