"""New metadata documents for a part of a hierarchy: some resolution levels or a region of its images.

``region``
    The pixels, levels and channels that a user asks for.
``levels``
    The whole chunks of each level that show a region; the levels that a label image keeps.
``image``, ``hierarchy``
    The documents of a cropped array, of a cropped image, and of the whole subset.
"""
