"""Rules about coordinate systems and transformations (OME-Zarr 0.6).

Rules about a single node, from its attributes:

``image``
    An image: its systems, its levels, and its further transformations.
``scene``
    A scene: its systems, and the transformations that place images in them.
``systems``
    A list of coordinate systems.
``ends``
    The input and the output of a transformation.
``steps``
    One transformation: its type, and its parameters, which must match the axes of input and output.
``matrices``
    The parameters of affine transformations and rotations.

Rules about several nodes:

``references``
    Transformations that name other groups and arrays.
``vector_fields``
    The images of displacements and coordinates.
``connections``
    Systems that transformations connect.
"""
