"""Archives and directories behind URLs.

``urls``, ``access``, ``profiles``
    The URLs that ozx opens; options and credentials for them.
``folder``
    `RemoteFolder`: the objects below a URL, listed, found and read.
``opening``
    A URL to a source, without imports that only requests need.
``source``
    `RemoteSource`: ``read_at`` by range requests; every answer is compared with the first one.
``reading``
    One entry by as few requests as possible.
``transport``
    Requests for parts of a file.
``object_store``, ``retries``, ``retry_after``, ``deadline``
    obstore's requests: repeated after failures, when a busy server says, and within the time of the caller.
``forks``, ``helper``
    Forked processes, and their requests, made by a process of its own.
``errors``
    obstore's errors in plain words and without secrets.
``upload``, ``upload_writer``, ``upload_records``, ``s3``
    One object of S3, written in parts; an archive written into it; records of uploads; clients of S3.
"""
