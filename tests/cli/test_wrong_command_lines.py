"""Wrong command lines of every verb: each ends with 2, says what is wrong, and changes no file."""

import shutil

import pytest
from commands import command
from hierarchies import FIXTURES, make_image, tree
from packed import pack_tree
from tiffs import ome_image, ome_xml, pixels, write_ome

ozx = command()

OF_A_NODE = (["cells.ozx/labels/cells", "out.ozx"], "found the node labels/cells in a file\nhint: Give ")
OF_THREE = (
    ["cells.ozx", "b.zarr", "cells.ozx"],
    "expected one source and its output; got 3 arguments\nhint: Give --out-dir D",
)
# The arguments of each verb, and what is said.
WRONG = {
    "pack": [
        OF_A_NODE,
        ([], "Missing argument"),
        (["cells.ome.zarr", "b.zarr", "out.ozx"], "exactly one hierarchy"),
        (["cells.ome.zarr", "out.ozx", "--out-dir", "d"], "both an output"),
        (["cells.ome.zarr", "--jobs", "0"], "--jobs"),
        (["cells.ome.zarr", "--checksum", "md5"], "--checksum"),
        (["cells.ome.zarr", "--remove-source", "--no-sync"], "on the disk"),
        (["cells.ome.zarr", "a.ozx", "--dask", "tcp://127.0.0.1:1"], "--dask: expected several files with --out-dir"),
        (["cells.ome.zarr", "cells.ozx"], "exists already"),
        (["cells.ozx", "new.ozx"], "is a file"),
        (["cells.ome.zarr", "cells.ome.zarr/in.ozx"], "inside its own source"),
        (["--nonsense"], "There is no option"),
    ],
    "repack": [
        OF_THREE,
        (["cells.ozx"], "error: Missing argument 'OUT'."),
        (["cells.ome.zarr"], "OUT"),
        (["cells.ome.zarr", "a.ozx", "--shards", "y=63"], "multiple of the chunk"),
        (["cells.ome.zarr", "a.ozx", "--codec", "zip"], "zstd"),
        (["cells.ome.zarr", "a.ozx", "--codec", "zstd:99"], "22"),
        (["cells.ome.zarr", "cells.ome.zarr/a.ozx"], "inside"),
        (["cells.ome.zarr", "cells.ozx"], "--force"),
    ],
    "extract": [
        (["cells.ozx", "out.ozx", "--region", "y=0:9", "x=0:9"], "extra argument (x=0:9)\nhint: ozx extract "),
        (["cells.ozx", "out.ozx", "--channels", "DAPI", "GFP"], "Write lists and sizes without blanks, as in "),
        (["cells.ozx", "out.ozx", "--max-size", "5", "MB"], "Write lists and sizes without blanks, as in "),
        (["cells.ozx", "out.ozx", "--region", "up"], "hint: Write y=0:2048,x=0:2048"),
        (["cells.ozx", "out.ozx", "--max-size", "1kB"], "with the coarsest level alone"),
        (["cells.ozx", "out.ozx", "--max-size", "small"], "expected a size"),
        (["cells.ozx", "out.ozx", "--path", "labels/cel"], "hint: Did you mean labels/cells"),
        (["cells.ozx", "out.ozx", "--path", "0"], "0 is an array"),
        (["cells.ozx", "out.ozx", "--nonsense"], "There is no option"),
    ],
    "export": [
        OF_THREE,
        (["cells.ozx"], "cells.ome.tif: the file exists already"),
        (["cells.ozx", "a.tif", "--compression", "webp"], "'webp' is not one of 'zlib', 'zstd', 'lzw', 'jpeg', 'none'"),
        (["cells.ozx", "."], "expected the name of an output file; . is a folder"),
    ],
    "thumbnail": [
        OF_THREE,
        (["cells.ozx", "a.png", "--size", "big"], "'big' is not a valid integer"),
        (["cells.ozx", "a.png", "b.png"], "expected one source and its output"),
    ],
    "edit": [
        (["cells.ozx", "new.ozx", "--name", "N"], "does not exist\nhint: ozx edit changes each FILE itself and has no"),
        (["cells.ozx"], "expected at least one requested change"),
        (["cells.ozx", "--pixel-size", "big"], "pixel size: expected a number, perhaps with a unit; got 'big'"),
        (["cells.ozx", "--pixel-size", "0,65"], "with a decimal point"),
        (["cells.ozx", "--pixel-size", "0.65furlong"], "expected a unit of space or time"),
        (["cells.ozx", "--pixel-size", "0.65s"], "expected a pixel size with a unit of space"),
        (["cells.ozx", "--pixel-size", "x=0,65"], "pixel size: expected axes with values"),
        (["cells.ozx", "--pixel-size", "x=um"], "expected a number for axis x, perhaps with a unit; got 'um'"),
        (["cells.ozx", "--pixel-size", "x="], "pixel size: expected axes with values"),
        (["cells.ozx", "--unit", "mikrometer"], "hint: Did you mean micrometer?"),
        (["cells.ozx", "--unit", "x=second"], "axis x is of type space; second is a unit of time"),
        (["cells.ozx", "--colors", "FF00,red"], "expected a colour as RRGGBB, six hexadecimal digits; got 'FF00'"),
        (["cells.ozx", "--name", ""], "expected a name; got an empty string"),
        (["cells.ozx", "--nonsense"], "There is no option"),
    ],
    "import": [
        OF_A_NODE,
        (["cells.ome.tif", "celsl.tif"], "celsl.tif does not exist"),
        (["cells.ome.tif", "out.ome.tif"], "ozx import cells.ome.tif out.ozx"),
        (["cells.ome.tif", "a.ozx", "--out-dir", "d"], "both an output"),
        (["cells.ome.tif", "cells.ome.tif", "a.ozx"], "one image file as input for the one output a.ozx; got 2"),
        (["a.ozx"], "It needs no import"),
        (["cells.ome.tif", "a.ozx", "--pixel-size", "y=0.65um", "x=0.65um"], "without blanks"),
        (["cells.ome.tif", "--pixel-size", "y=0.65um", "x=0.65um"], "x=0.65um does not exist"),
        (["cells.ome.tif", "a.ozx", "--channel-names", "DAPI", "GFP"], "as in --channel-names DAPI,GFP"),
        (["cells.ome.tif", "a.ozx", "--axes", "xyx"], "axes: expected"),
        (["cells.ome.tif", "a.ozx", "--pixel-size", "0.65furlong"], "expected a unit"),
        (["cells.ome.tif", "a.ozx", "--unit", "mikrometer"], "Did you mean micrometer"),
        (["cells.ome.tif", "a.ozx", "--codec", "rar"], "rar"),
        (["cells.ome.tif", "a.ozx", "--series", "7"], "series: expected"),
        (["cells.ome.tif", "a.ozx", "--method", "median"], "median"),
    ],
    "view": [
        (["cells.ozx", "--with", "napari", "--no-browser"], "opens its own window"),
        (["cells.ozx", "--with", "napari", "--port", "80"], "opens its own window"),
        (["cells.ozx", "--with", "paint"], "is not one of"),
        (["cells.ozx", "--port", "70000"], "is not in the range"),
        (["cells.ozx|zip:nothing/", "--with", "napari"], "nothing"),
    ],
    "validate": [([], "Missing argument")],
    "unpack": [OF_THREE],
    "recover": [OF_THREE, OF_A_NODE, (["cells.ozx"], "error: Missing argument 'OUT'.")],
    "verify": [
        (["cells.ozx/labels/cells"], "found the node labels/cells in a file\nhint: Give "),
        (["cells.ozx"], "hint: ozx validate --level data checks a file without a manifest."),
        (["cells.ozx", "b.ozx", "--manifest", "m.json"], "--manifest"),
    ],
}


@pytest.fixture
def folder(here):
    """A file or directory of each kind that a verb reads."""
    shutil.copytree(FIXTURES / "image.ome.zarr", here / "cells.ome.zarr")
    make_image(here / "b.zarr")
    pack_tree(here / "cells.ome.zarr", here / "cells.ozx")
    write_ome(here / "cells.ome.tif", ome_xml(ome_image(size=(1, 2, 1, 30, 40))), pixels((2, 30, 40)))
    return here


@pytest.mark.parametrize(
    ("verb", "arguments", "message"), [(verb, *line) for verb, lines in WRONG.items() for line in lines]
)
def test_a_wrong_command_line_ends_with_2_and_changes_nothing(capsys, folder, verb, arguments, message):
    before = tree(folder)
    code, out, err = ozx(capsys, verb, *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert tree(folder) == before
