"""New images with their pyramids into an archive: one pass over the pixels, no copy of them.

``new_image``
    What is to be written: images with their levels and channels, alone, as a series or a plate.
``pyramid``, ``downsampling``
    Which levels an image gets; blocks of pixels to half as many.
``cascade_plan``, ``cascade``
    In which blocks and which order a pyramid is made; making it.
``array_layout``, ``image_documents``
    Chunks, shards, and the ``zarr.json`` of arrays and groups.
``chunk_encoding``, ``shard_assembly``
    Pixels to chunks in any thread, chunks to stored values.
``new_archive``, ``hierarchy_writing``
    An archive whose metadata is complete only when its data is; all of it together.
"""
