"""New metadata documents of arrays that get other chunks, shards or codecs.

``axis_lengths``
    Requested lengths by axis.
``layout_choice``, ``shard_choice``
    One layout for all arrays of a hierarchy; default shard sizes.
``transcoding``, ``rechunking``
    The document of an array with another codec or other chunks, and the mapping of its pixels.
``extensions``
    The extensions of an array that stay valid.
"""
