"""Plugins with which other programs read and write .ozx files; each program loads its own module.

``fsspec``
    The protocol ``ozx``, read-only.
``xarray``
    ``xr.open_dataset`` and ``xr.open_datatree``.
``ome_writers``
    Streams of ome-writers, which write .ozx files.
``napari/``
    Layers from files, and files from layers.
"""
