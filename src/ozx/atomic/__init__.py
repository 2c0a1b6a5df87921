"""Atomic writing: a file or directory appears under its final name only when it is complete.

All data is written to a temporary file or directory ``.NAME.PID.HOST.ozx-tmp`` beside the target. The writing process
holds a lock on it, syncs it and renames it, then syncs the folder. The next process of the same computer that writes
into the folder removes the leftovers of killed processes.

``new_file``, ``new_directory``
    Context managers that create a file or a directory and give it its name at the end.
``targets``
    Checks of final names, system errors with the final name, and messages about a full disk.
``temporary``, ``locks``, ``host``
    Temporary files and directories; locks, and marks of this computer, that show whether their writer is alive.
``renaming``, ``syncing``
    Renaming of a finished file or directory, in one step if the system supports it; syncing to the disk, and
    permissions.
``tree_removal``, ``tree_record``
    Removal of a tree, file by file, if it is unchanged since it was recorded.
``windows``
    Windows' names, its long paths, and the files that other programs hold open there.
"""
