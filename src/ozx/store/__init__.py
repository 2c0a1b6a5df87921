"""Access the hierarchy in an archive as a store of zarr-python.

``ozx_store``
    `OzxStore`, a zarr Store, with writes to parts of a value.
``reading``, ``writing``
    The kinds of sessions: for a finished archive, for one being written, and for one uploaded at its end.
``partial_file``, ``growing_file``, ``finishing``
    A new archive: its temporary file; the places of values and the room for metadata; free bytes; its completion.
``label_groups``
    Label images added and removed; an archive written anew for them.
``normalised``, ``read_only_stores``, ``current_objects``
    Other stores: metadata in the form that zarr-python reads; a source, a local and a remote directory as stores.
``opening``, ``extension_groups``, ``array``
    Files opened as zarr groups; the arrays of a group, opened by the handlers of extensions; the class of these arrays.
``live/``
    Sessions that read a stream while another process writes it.
``pixels/``
    The reader of windows, and the codec pipeline that reads the chunks of a request together.
``level``
    A resolution level as an array that is read when sliced; the cost of reading a part.
"""
