"""Reading of files and directories at URLs.

``urls``, ``access``
    The URLs that ozx opens; options and credentials for them.
``folder``
    `RemoteFolder`: listing, search and reading of the objects below a URL; ETags that are an MD5.
``source``
    `RemoteSource`: ``read_at`` by range requests; every answer is compared with the first one. Many values with few
    requests.
``requests``, ``helper``
    Requests, which are repeated after failures; a helper process that makes the requests of a forked process.
``object_store``, ``retries``
    obstore's store for a URL; which requests are repeated, and after which pause.
``deadline``
    The time limit for all requests of a caller.
``cache``
    Cached central directories of archives.
``errors``
    obstore's errors in plain words and without secrets.
"""
