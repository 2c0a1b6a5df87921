"""Pixels: which of them make a picture of an image, and in which colours.

``channels``
    Which channels are shown, in which colours, and between which values.
``render``
    Planes of pixels, or of label values, to red, green and blue.
``raster``
    Pictures to another size, and to PNG and JPEG; the only importer of Pillow.
``planes``
    The level and the planes of an image in a zarr group that are enough for a picture.
``montage``
    A plate as one picture.
``thumbnail``
    A picture of a hierarchy, whatever it holds.
``thumbnail_cache``
    Where desktops look for pictures of files.

From pixels to files with all resolution levels:

``pixel_source``
    Where pixels come from, in blocks; arrays that answer.
``new_image``
    What is to be written: images, a series, a plate.
``pyramid``, ``downsampling``
    Which levels there are and where their pixels lie; blocks to half as many pixels.
``array_layout``, ``image_documents``
    Chunks and shards of new arrays; what the metadata says.
``cascade_plan``, ``cascade``
    In which blocks and in which order levels are made; one pass over the source.
``chunk_encoding``, ``shard_assembly``, ``new_archive``
    Chunks to bytes, bytes to shards, shards to a file whose metadata is known last.
``hierarchy_writing``
    All of it, by threads or a cluster.

From TIFF files to images; only the modules called ``tiff…`` know tifffile:

``tiff``
    A file, and those that belong to it, as images.
``tiff_source``, ``tiff_pages``, ``tiff_segments``, ``tiff_axes``, ``segment_cache``
    The pixels of a series in blocks: its pages in the image, the strips and tiles in a page, each decoded once.
``description``
    What a file says of its images, whatever its format.
``ome_xml``, ``ome_units``, ``xml_reading``
    OME-XML.
``tiff_description``
    ImageJ's words, those of slide scanners, and the tags of any TIFF.
``tiff_hierarchy``, ``tiff_import``
    What becomes of the images: one, a series, a plate; written into one file.

The first two are plain NumPy on arrays. The room stands above ``store``: a picture is one of an image in a store, and
more than one verb makes pictures.
"""
