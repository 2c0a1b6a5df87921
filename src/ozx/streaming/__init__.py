"""Streams of frames: the planes of a camera are written as an image with its pyramid while they are recorded.

::

    append ─ copy ─→ ring ─→ threads: halve, encode ─→ chunks ─→ shards ─→ NAME.partial ─ close ─→ NAME
                     (FrameRing)      (BlockPyramid)             (OpenShards)  (StreamFile)

``frame_stream``, ``encoding_threads``
    The stream that a program writes to, and its result; its threads, and the frames that wait for them.
``frames``, ``frame_records``, ``frame_ring``
    The places of frames and frames from a pipe; the records about frames; the memory in which frames wait.
``streamed_image``
    One image: its levels, its unfinished shards, its complete rows, and the pixels that determine its contrast.
``stream_images``, ``stream_file``
    The images of cameras, positions or fields of a plate; their metadata while they grow; the file, with values and
    metadata in their final places.
``open_chunks``, ``recovered_chunks``
    Chunks of unfinished shards, in memory and in a file; the recovery of shards from that file.
"""
