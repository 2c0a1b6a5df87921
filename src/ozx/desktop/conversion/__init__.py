"""Convert TIFF files and OME-Zarr directories from the menus of file managers, with progress in a window.

``convert``
    The program ``ozx-convert``, which converts files one by one and shows the result.
``windows``
    The choice of the window that the desktop can show.
``zenity``, ``browser_page``
    A window of zenity; a page in the browser. Both have a button to cancel.
The folder ``page`` contains the files of the page.
"""
