"""How other programs open .ozx files: thin modules, each loaded by its program.

``fsspec``
    The protocol ``ozx``, read-only.
``xarray``
    ``xr.open_dataset`` and ``xr.open_datatree``.
``napari/``
    Layers out of files and into one, a package of its own.
"""
