"""An image in a window: a page of our own, served on this computer only, and the ways into other viewers.

loopback           an HTTP server that only this computer reaches: requests and answers, hosts and methods refused
pictures           what can be shown: an image, a label image, or a plate as one picture, cut into tiles
chunk_cache        decoded chunks, kept while memory allows
samples            pixels as the page's graphics card takes them
descriptions       what the page is told of a file and of a picture, as JSON
page_server        the page, the descriptions, the tiles
presence           whether anybody looks at the page
ranges             values by HTTP, whole or in part
windows            finding a browser, and having it open a window
viewing            `ozx view`: all of them together
file_server        `ozx serve`: files by range, and as virtual directories
neuroglancer_page  `ozx view --with neuroglancer`
napari_window      `ozx view --with napari`
page/              the page itself: plain JavaScript modules, no build chain
"""
