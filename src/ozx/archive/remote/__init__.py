"""Archives behind URLs.

``opening``
    A URL to a source, without imports that only requests need.
``source``
    `RemoteSource`: ``read_at`` by range requests; every answer is compared with the first one.
``reading``
    One entry by as few requests as possible.
``transport``
    The requests, by obstore.
``helper``
    The requests of a forked process, made by a process of its own.
``errors``
    obstore's errors in plain words and without secrets.
"""
