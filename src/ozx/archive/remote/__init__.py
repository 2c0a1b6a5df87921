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
    The requests, by obstore.
``forks``, ``helper``
    Forked processes, and their requests, made by a process of its own.
``errors``
    obstore's errors in plain words and without secrets.
``upload``, ``upload_writer``, ``upload_records``
    One object, written in parts; an archive written into it; records of uploads.
``new_objects``
    Many objects below one URL.
``outputs/``
    Clients of the stores to which objects are uploaded.
``s3``
    Clients of S3, by boto3.
"""
