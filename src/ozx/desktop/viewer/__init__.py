"""An image in a window: a page of our own, served on this computer only, and the ways into other viewers.

``viewing``
    `ozx view`: all of this together.
``windows``
    Finding a browser, and having it open a window.
``loopback``, ``gate``
    An HTTP server that only this computer reaches, and the path that nobody can guess.
``page_server``, ``presence``
    The page, the descriptions and the tiles; whether anybody looks at them.
``pictures``, ``chunk_cache``, ``samples``
    What can be shown, cut into tiles; decoded chunks that are kept; pixels as the page's graphics card takes them.
``descriptions``
    What the page is told of a file and of a picture, as JSON.
``ranges``, ``file_server``
    Values by HTTP, whole or in part; `ozx serve`: files, and what is packed in them as directories.
``neuroglancer_page``, ``neuroglancer_state``
    `ozx view --with neuroglancer`: its page, and what it is told.
``napari_window``
    `ozx view --with napari`.

The folder ``page`` is the page itself: plain JavaScript modules, no build chain.
"""
