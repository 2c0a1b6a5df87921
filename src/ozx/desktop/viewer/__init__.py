"""Show an image in a window: on a page that is served on this computer only, or in another viewer.

``viewing``
    The steps of `ozx view`, with the modules below.
``browser``
    Finding a browser, and opening a window of it.
``loopback``, ``page_access``
    An HTTP server that only this computer reaches; a page's files, secret path and count of open windows.
``page_server``
    The page, the descriptions and the tiles.
``keeping``, ``cropping``
    Writing of the page's colours into the file; the region on the screen as a file.
``pictures``
    The pictures of a file, cut into tiles; a cache of decoded chunks; pixels for the page's graphics card.
``descriptions``
    The description of a file and of a picture, as JSON for the page.
``file_server``
    Values by HTTP, whole or in part; `ozx serve`: files, and their contents as directories.
``napari_window``
    `ozx view --with napari`, and its start by the page.
The folder ``page`` contains the files of the page: plain JavaScript modules, no build chain.
"""
