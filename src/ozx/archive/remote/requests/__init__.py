"""obstore's requests: repeated after failures, when a busy server says, and within the time of the caller.

``object_store``
    `ObjectStore`: the store of one URL.
``retries``
    Which failures are repeated, and when.
``retry_after``
    The header ``Retry-After``.
"""
