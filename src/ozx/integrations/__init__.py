"""Plugins for other programs that open .ozx files; each module is loaded by its program.

``fsspec``
    The protocol ``ozx``, read-only.
``xarray``
    ``xr.open_dataset`` and ``xr.open_datatree``.
``napari/``
    Layers from files, and files from layers.
"""
