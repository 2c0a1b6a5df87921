"""Writing of new images and their pyramids into an archive, in one pass over the pixels.

``new_image``, ``array_image``
    The description of new images with their levels and channels, alone, as a series or a plate; arrays as images.
``levels``, ``downsampling``
    The resolution levels of an image; blocks of pixels reduced to half their sides.
``pyramid_plan``, ``pyramid``
    The blocks of a pyramid and their order; the pyramid, made in one pass.
``array_layout``, ``image_documents``, ``hierarchy_documents``
    Chunks, shards, and the ``zarr.json`` of arrays and groups, one by one and of a whole hierarchy.
``chunk_encoding``, ``shard_assembly``
    Pixels to chunks in any thread, chunks to stored values.
``hierarchy_writing``
    The plan of new images, written into an archive.
"""
