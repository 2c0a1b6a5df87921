"""Detection of entries that are links, devices or folders according to the central directory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ozx.archive.columns import Columns

_Indices = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class FileKinds:
    """Entries that are not regular files according to their external attributes (APPNOTE 4.4.15) or names."""

    symlinks: _Indices  # indices of symbolic links
    special: _Indices  # indices of Unix devices, pipes and sockets
    directories: _Indices  # indices of entries whose name ends in a slash
    # indices of entries that are folders by their attributes, though their names do not end in a slash
    folder_values: _Indices
    volume_labels: _Indices  # indices of entries that are volume labels by their attributes


# 4.4.2.2: systems with the attributes of DOS: FAT, HPFS, NTFS (as numbered by APPNOTE and by Info-ZIP) and VFAT.
_DOS_SYSTEMS = (0, 6, 10, 11, 14)
_DOS_VOLUME_LABEL, _DOS_DIRECTORY = 0x08, 0x10
# unzip also looks for labels in entries from Atari.
_LABEL_SYSTEMS = (*_DOS_SYSTEMS, 5)
_UNIX_SYSTEMS = (3, 19)  # 19 is macOS


def find_kinds(columns: Columns, named_directories: _Indices) -> FileKinds:
    """Return the entries that are not regular files; `named_directories` are entries whose names end in a slash."""
    # 4.4.2 and 4.4.15: the upper byte names the system of these attributes.
    system, attributes = columns.field("<u2", 4) >> 8, columns.field("<u4", 38)
    # No test of the system: unzip also makes links of entries from VMS, Atari and BeOS, and 7-Zip of entries from DOS.
    symlinks = np.flatnonzero(attributes >> 28 == 0o12)
    kind = (attributes >> 28) * np.isin(system, _UNIX_SYSTEMS)
    is_folder = kind == 0o04
    is_folder |= ((attributes & _DOS_DIRECTORY) != 0) & np.isin(system, _DOS_SYSTEMS)
    is_folder[named_directories] = False
    is_label = ((attributes & _DOS_VOLUME_LABEL) != 0) & np.isin(system, _LABEL_SYSTEMS)
    return FileKinds(
        symlinks,
        np.flatnonzero(~np.isin(kind, (0, 0o04, 0o10, 0o12))),
        named_directories,
        np.flatnonzero(is_folder),
        np.flatnonzero(is_label),
    )
