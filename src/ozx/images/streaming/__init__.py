"""Streams of frames: planes of a camera become an image with its pyramid while they are taken.

::

    append ─ copy ─→ ring ─→ threads: halve, encode ─→ chunks ─→ shards ─→ NAME.partial ─ close ─→ NAME
                     (FrameRing)      (FramePyramid)             (OpenShards)  (StreamFile)

``frame_stream``
    The stream that a program writes to, and its threads.
``frame_order``, ``frame_ring``
    The places of frames; the memory in which frames wait.
``streamed_image``, ``frame_pyramid``, ``open_shards``, ``samples``
    One image: its levels, its unfinished shards, and the pixels that determine its contrast.
``stream_documents``, ``stream_file``
    The metadata of images that grow; the file, with values and metadata in their final places.
``statistics``
    The result: counts, rate and waits.
"""
