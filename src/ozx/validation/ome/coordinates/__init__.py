"""Rules about coordinate systems and transformations (OME-Zarr 0.6).

Rules about a single node, from its attributes:

``steps``
    One transformation: its type, and its parameters, which must match the axes of input and output.

Rules about single and several nodes:

``ends``
    The input and the output of a transformation, and what connects coordinate systems, groups and arrays.
"""
