"""The one write protocol: a complete file or directory appears under its final name, or nothing does.

Everything is written to a temporary ``.NAME.PID.ozx-tmp`` beside the target, which is locked while its process
lives; then it is synced and renamed, and the folder synced. Interrupts, kills and full disks leave the old target. The
next process that writes into the same folder removes the leftovers of killed ones.

Modules that use others come first:

``new_file``, ``new_directory``
    Context managers that create a file or a directory and give it its name at the end.
``targets``
    Checks of final names, and system errors with the final name.
``full_disk``
    Messages about a full disk.
``permissions``
    Mode, owner and access control list of a replaced file or directory.
``temporary``
    Temporary files and directories: created, locked, and removed if their process is dead.
``renaming``
    The last step: a finished file or directory gets its name, in one step if the system can.
``tree_removal``, ``tree_record``
    Removal of a tree, file by file, if it is unchanged since it was recorded.
``syncing``
    Waiting for the disk.
``locks``
    Locks that show whether a file's writer is alive.
"""
