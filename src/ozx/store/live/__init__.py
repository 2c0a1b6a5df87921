"""Read the file ``NAME.partial`` of a stream with the help of its index, while another process writes both.

``index``
    The file ``NAME.partial.index``: one line for each finished value, and for each new length of an image.
``followed_file``
    The growing file, and its later state: finished, unfinished or removed.
``session``, ``group``
    The values by key, as of the last reading of the index; the group that `ozx.open` returns.
"""
