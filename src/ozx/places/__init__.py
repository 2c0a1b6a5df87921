"""Places of bytes: files, directories and URLs, read at any offset. What finishes files stands in ``ozx.atomic``.

``place``
    `Place`: a path or URL as users give it, with a node behind it.
``byte_source``
    ``read_at(offset, length)`` for a file, for bytes in memory and, by ``remote/``, for a URL.
``positional_reading``, ``positional_writing``
    The only modules with POSIX-only calls; each has a portable fallback.
``remote/``
    Requests, retries, cache, and the folders of servers.
"""
