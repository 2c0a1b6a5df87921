"""New metadata documents for a part of a hierarchy: some resolution levels or a region of its images.

``region``
    The pixels, levels and channels that a user asks for.
``levels``
    The whole chunks of each level that show a region.
``exact``
    The pixels of each level that a region has, and the levels that are computed from them.
``image``, ``hierarchy``
    The documents of a cropped array, of a cropped image, and of the whole subset.
"""
