"""Reading and writing of archives and directories at URLs.

``urls``, ``access``
    The URLs that ozx opens; options and credentials for them.
``folder``
    `RemoteFolder`: listing, search and reading of the objects below a URL.
``source``
    `RemoteSource`: ``read_at`` by range requests; every answer is compared with the first one. Many values with few
    requests.
``reading``
    Reading of one entry with as few requests as possible.
``transport``, ``helper``
    Requests, which are repeated after failures; a helper process that makes the requests of a forked process.
``object_store``, ``retries``
    obstore's store for a URL, and ETags that are an MD5; the pause that a busy server sets before the next attempt.
``deadline``
    The time limit for all requests of a caller.
``cache``
    Cached central directories of archives.
``errors``
    obstore's errors in plain words and without secrets.
``upload``
    Upload of one object in parts, or of an archive while it is written.
``s3``
    Clients of S3, by boto3; creation of one object.
``replacement``
    Replacement of an S3 object by one with mostly the same bytes.
"""
