"""Convert TIFF files and OME-Zarr directories from the menus of file managers, with progress in a window.

``convert``
    The program ``ozx-convert``, which converts files one by one, with a window of zenity, and shows
    the result.
``browser_page``
    The window as a page in the browser.
The folder ``page`` contains the files of the page.
"""
