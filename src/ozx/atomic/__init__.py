"""The one write protocol: a file or directory appears under its final name whole, or not at all.

Everything is written to a temporary ``.NAME.PID.ozx-tmp`` beside the target, which is locked while its process
lives; then it is synced, renamed, and the folder synced. Interrupts, kills and full disks leave the old target. What
a killed process left is swept by the next one that writes into the same folder.

From what is used to what it stands on:

``new_file``, ``new_directory``
    A block in which a file or a directory is made, and after which it has its name.
``targets``
    Which names may be written to, and errors that say the final one.
``full_disk``
    What is said of a full disk: what was needed, and what is free.
``permissions``
    Mode, owner and access control list of what is replaced.
``temporary``
    Temporary files and directories: made, locked, and removed where their process is dead.
``renaming``
    The last step: a finished file or directory gets its name, in one step wherever the system can.
``tree_removal``, ``tree_record``
    A tree goes file by file, and only what is still as it was recorded.
``syncing``
    Waiting for the disk.
``locks``
    The locks that say whether a file's writer is alive.
"""
