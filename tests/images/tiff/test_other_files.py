"""The other files of an image: only names inside its folder are accepted."""

import pytest

from ozx.errors import FormatError
from ozx.images.tiff.opening import check_files


@pytest.mark.parametrize(
    "name",
    [
        "/secret/x.tif",
        "\\secret\\x.tif",
        "C:x.tif",
        "c:/x.tif",
        "C:\\x.tif",
        "//server/share/x.tif",
        "\\\\server\\share\\x.tif",
        "\\\\?\\C:\\x.tif",
        "../x.tif",
        "..\\x.tif",
        "a/../../x.tif",
        "a\\..\\..\\x.tif",
        "a/.. /x.tif",
        "..",
    ],
)
def test_names_outside_of_the_folder_are_refused_on_every_system(name):
    with pytest.raises(FormatError, match="the OME-XML refers to a file outside of its own folder"):
        check_files([name], "a.ome.tif")
