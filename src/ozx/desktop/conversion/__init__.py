"""Convert TIFF files and OME-Zarr directories from the menus of file managers, with progress in a window.

``convert``
    The program ``ozx-convert``, which converts files one by one, shows the progress in a window of zenity or on a page
    in the browser, and then the result.
The folder ``page`` contains the files of the page.
"""
