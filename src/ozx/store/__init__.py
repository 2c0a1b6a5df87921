"""The hierarchy inside an archive as zarr-python sees it.

``ozx_store``, ``session_store``
    `OzxStore`, a zarr Store; which session does what is asked of it.
``reading``, ``writing``
    Its two kinds of sessions: the values of a finished archive, and of one in the making.
``partial_file``, ``growing_file``, ``space``, ``metadata_reserve``, ``finishing``
    An archive in the making: its file until it has its name, where values go and which bytes are free, the room
    for metadata, and the end.
``sorted_keys``, ``partial_values``, ``after_fork``
    What is below a prefix; writes to parts of a value; locks in a forked child.
``normalised``, ``source_store``, ``local_store``, ``presence``
    Other stores: one that shows metadata in the form that zarr-python reads, a source as a store, and directories;
    which nodes there are in one.
``opening``, ``extension_groups``
    Groups out of files, their arrays as handlers of extensions want them used.
``image_view``, ``lazy_views``, ``reading_price``
    Images as programs for images want them; arrays that are read when they are sliced; what reading a part costs.
"""
