"""Writing of new images and their pyramids into an archive, in one pass over the pixels.

``new_image``, ``array_image``
    The description of new images with their levels and channels, alone, as a series or a plate; arrays as images.
``label_image``
    Masks as label images with the axes and levels of an image.
``downsampling``
    Blocks of pixels reduced to half their sides.
``pyramid``
    The blocks of a pyramid and their order; the pyramid and its chunks, made in one pass.
``new_array_layout``, ``documents``
    Chunks and shards of arrays; the ``zarr.json`` documents of one image, and of a whole hierarchy.
``cropping``
    Cropped arrays, decoded and encoded again, with the levels computed from them.
``shard_assembly``
    Assembly of chunks into shards in any thread.
``hierarchy_writing``
    Writing of new images into an archive.
"""
