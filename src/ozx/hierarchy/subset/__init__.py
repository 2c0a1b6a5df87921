"""New metadata documents for a part of a hierarchy: some resolution levels or a region of its images.

``selection``, ``region``, ``channels``
    The pixels, levels and channels that a user asks for.
``alignment``, ``levels``, ``label_levels``
    The whole chunks of each level that show a region; the levels that a label image keeps.
``picking``
    Channels with gaps between them.
``crop_notes``
    What is left out, why a region grows, and which chunks would fit it.
``array``, ``image``, ``hierarchy``
    The documents of a cropped array, of a cropped image, and of the whole subset.
"""
