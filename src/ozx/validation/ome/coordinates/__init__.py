"""Rules about coordinate systems and transformations (OME-Zarr 0.6).

Rules about a single node, from its attributes:

``ends``
    The input and the output of a transformation.
``steps``
    One transformation: its type, and its parameters, which must match the axes of input and output.

Rules about several nodes:

``references``
    Transformations that name other groups and arrays.
"""
