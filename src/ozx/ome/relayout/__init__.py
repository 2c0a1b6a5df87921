"""New metadata documents of arrays that get other chunks, shards or codecs.

``layout_choice``
    One layout for all existing arrays of a hierarchy. ``images/writing/new_array_layout`` has that of new images.
``shard_choice``, ``codec_choice``
    The shards of existing arrays; their chunks and compressors.
``rechunking``
    Blocks of pixels that are decoded and encoded together.
"""
