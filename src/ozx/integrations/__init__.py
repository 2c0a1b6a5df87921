"""Plugins by which other programs open .ozx files: thin modules, each loaded by its program.

``fsspec``
    The protocol ``ozx``, read-only.
``xarray``
    ``xr.open_dataset`` and ``xr.open_datatree``.
``napari/``
    Layers from files, and files from layers.
"""
