"""Reading and writing of archives and directories at URLs.

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
``requests/``
    obstore's requests: repeated after failures, when a busy server says.
``deadline``
    The time that a caller gives to all requests.
``cache``, ``user_folders``
    The directories of archives that were opened before; where ozx keeps such data of the user.
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
``replacing/``
    An object of S3 replaced by one whose data the server copies.
"""
