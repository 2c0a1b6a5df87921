"""New metadata documents of arrays that get other chunks, shards or codecs.

``layout_choice``, ``shard_choice``
    One layout for all arrays of a hierarchy; shards, chunks and codecs, as requested or by default.
``rechunking``
    Blocks of pixels that are decoded and encoded together.
"""
