"""Choose and check the path of an output, and return notes about it."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable

from ozx.atomic.renaming import SIDE_ENDINGS
from ozx.errors import UsageError
from ozx.places.place import Place

# Every reader loads the whole central directory; neuroglancer fails at 262,144 entries. Advise well before that.
_MANY_ENTRIES = 10_000


#: Of a file in the layout of the BioImage Archive.
BIOIMAGE_ENDING = ".ome.zarr.zip"


def default_output(source: str, out_dir: str | None = None, ending: str = ".ozx") -> str:
    """Return the default output path for a directory."""
    folder, name = os.path.split(source)
    if name in ("", ".", ".."):
        folder, name = os.path.split(os.path.abspath(source))
    for old in (".ome.zarr", ".zarr"):
        if name.lower().endswith(old) and len(name) > len(old):
            name = name[: -len(old)]
            break
    return os.path.join(folder if out_dir is None else out_dir, name + ending)


def folder_of_zip(target: Place) -> str:
    """Return the folder, with a slash, in a file of the BioImage Archive's layout: its name without ``.zip``."""
    name = os.path.basename(target.path)
    if not name.endswith(BIOIMAGE_ENDING) or name == BIOIMAGE_ENDING:
        raise UsageError(
            f"expected a name that ends in {BIOIMAGE_ENDING}, as the BioImage Archive asks for; got {name}",
            path=target.name,
            hint=f"Name the file NAME{BIOIMAGE_ENDING}, or leave out OUT.",
        )
    return f"{name.removesuffix('.zip')}/"


def stem_of_archive(path: str) -> str:
    """Return the base name of a file, directory or URL without its ending, for the names of outputs.

    Examples
    --------
    >>> stem_of_archive("scans/cells.ozx"), stem_of_archive("a.ome.zarr.zip"), stem_of_archive("run7.ozx.partial")
    ('cells', 'a', 'run7')
    >>> stem_of_archive("https://example.org/day%20one.ozx?signature=secret")
    'day one'
    """
    name = os.path.basename(os.path.abspath(Place(path).local_name()))
    for ending in (".partial", ".zip", ".ozx", ".zarr", ".ome"):
        if name.lower().endswith(ending) and len(name) > len(ending):
            name = name[: -len(ending)]
    return name


def beside_source(source: Place, ending: str) -> str:
    """Return the default path of an output: beside its source or, for a URL, in the working directory.

    Examples
    --------
    >>> beside_source(Place("scans/cells.ozx"), ".png"), beside_source(Place("plate.ozx", "A/1/0"), ".ome.tif")
    ('scans/cells.png', 'plate_A_1_0.ome.tif')
    """
    path = source.local_name().rstrip("/")
    name = "_".join([stem_of_archive(source.path), *filter(None, source.node.split("/"))])
    return os.path.join(os.path.dirname(path), Place.output(f"{name}{ending}").path)


# Name endings by which programs recognise a format, each with the command that writes this format.
_WRITERS = {
    **dict.fromkeys((".tif", ".tiff"), "ozx export writes TIFF files."),
    **dict.fromkeys((".png", ".jpg", ".jpeg"), "ozx thumbnail writes pictures."),
    ".zarr": "ozx unpack writes directories.",
    ".ozx": "ozx extract and ozx repack write .ozx files.",
}
_OWN_ENDINGS = {
    "an .ozx file": (".ozx", ".zarr"),
    "a TIFF file": (".tif", ".tiff"),
    "a directory": (".zarr", ".ozx"),
}


def check_name(target: str, wanted: str) -> None:
    """Check that the name of a new file or directory is not that of another format."""
    ending = os.path.splitext(target.rstrip("/"))[1].lower()
    if ending in _WRITERS and ending not in _OWN_ENDINGS[wanted]:
        raise UsageError(f"expected the name of {wanted}; got {target}", hint=_WRITERS[ending])


def name_notes(target: Place, *, has_out_dir: bool = True) -> tuple[str, ...]:
    """Return a warning if the file name lacks the ending ``.ozx``, which RFC-9 (R2, 2026-04-20) recommends.

    A name without any ending may be meant as a folder; the warning names ``--out-dir`` if the command has this option.
    """
    name = target.name
    if name.lower().endswith(".ozx"):
        return ()
    is_folder = has_out_dir and not os.path.splitext(name)[1]
    folder = f"; to write into a folder {name}, remove this file and give out_dir={name!r}" if is_folder else ""
    return (f"warning: {name} does not end in .ozx; programs may not recognise it as an OME-Zarr file{folder}",)


def entry_notes(entries: int) -> tuple[str, ...]:
    """Return a note with advice if an archive has so many entries that it opens slowly."""
    if entries <= _MANY_ENTRIES:
        return ()
    advice = (
        "every reader first loads the list of all entries. Sharding puts many chunks into one entry, so that the file "
        "opens fast ; shards='auto' does it, and nothing is recompressed"
    )
    return (f"{entries:,} entries: {advice}",)


def spelling_notes(keys: Iterable[str]) -> tuple[str, ...]:
    """Return a warning if names of nodes are decomposed: ``o`` and a diaeresis instead of ``ö``.

    HFS+ and some network drives decompose all names, but not the paths in ``zarr.json``. `keys` are those of metadata.
    """
    name = next((key.rpartition("/")[0] for key in keys if not unicodedata.is_normalized("NFC", key)), None)
    if name is None:
        return ()
    note = (
        f"warning: {name} has accents apart from their letters (Unicode form NFD), as some disks of a Mac store all "
        "names; where zarr.json has them together, no reader finds the node (ozx validate names such paths)"
    )
    return (note,)


def swept_notes(swept: Iterable[str]) -> tuple[str, ...]:
    """Return notes about temporary files beside the target: removed, renamed and remaining files.

    Examples
    --------
    >>> swept_notes([".cells.ozx.4711.node7-1a2b3c4d.ozx-tmp"])
    ('removed .cells.ozx.4711.node7-1a2b3c4d.ozx-tmp, left by a run that was killed',)
    """
    return tuple(_swept_note(path) for path in swept if not (path.endswith(SIDE_ENDINGS) and os.path.exists(path)))


def _swept_note(path: str) -> str:
    if path.endswith(SIDE_ENDINGS):
        return f"removed {path}: it described the file that was replaced"
    if not os.path.lexists(path):
        return f"removed {path}, left by a run that was killed"
    if path.endswith(".ozx-tmp"):
        return f"{path}, from a run on another computer, is a day old; if that run has ended, remove it"
    return f"warning: {path} is the old directory that a killed run replaced; check it for changes, then remove it"
