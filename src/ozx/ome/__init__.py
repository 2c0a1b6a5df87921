"""OME-Zarr metadata: nodes and images, versions, conversion and coordinate transformations.

``nodes``, ``images``, ``plates``, ``references``
    The nodes of a hierarchy and notes about them, its images, the wells of a plate, and the paths by which a node
    refers to another node.
``partial_hierarchy``
    A hierarchy with missing nodes, and the roles of its keys.
``model``
    Version, axes, images, labels, plates, series and collections.
``transformations``, ``units``
    Scales and translations, coordinate systems; units of axes, and those of OME-XML.
``placing``
    Transformations as matrices; the places of images in other coordinate systems.
``downscaling``
    Where the levels that ozx computes end, their methods, and how metadata describe them.
``colors``
    Colours and contrast of channels; the colours of dyes; colours as users give them.
``versions``, ``conversion_05_06``
    Versions of OME-Zarr, and its drafts; a group in another version: 0.5 to 0.6, and back.
``upgrade``, ``downgrade``
    OME-Zarr 0.4 documents as 0.5, and 0.5 documents as 0.4.
``comment``
    The archive comment of RFC-9.
``thumbnail``, ``recovered``, ``ro_crate``
    The root's attributes that name the picture in a file, and those that say what a recovered file lacks; the metadata
    file by which archives of data learn the name, the authors and the license.
``relayout/``, ``subset/``, ``edit/``
    New documents for other chunks, for a part of a hierarchy, and for edited metadata.
"""
