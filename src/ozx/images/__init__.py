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

And back, from images to an OME-TIFF file:

``exported_hierarchy``, ``exported_image``
    What a hierarchy has to be written: images with five axes, their levels, their plate, their OME-XML.
``ome_xml_writing``, ``ome_xml_update``, ``xml_writing``
    OME-XML that is made, and OME-XML that images came with, brought up to date.
``tile_cutting``, ``tile_encoding``
    Chunks to tiles, each read once; tiles as they are stored.
``tiff_writing``, ``tiff_tiles``
    The file: directories by tifffile, then tiles in the order in which they come.

The first two are plain NumPy on arrays. The room stands above ``store``: a picture is one of an image in a store, and
more than one verb makes pictures.
"""
