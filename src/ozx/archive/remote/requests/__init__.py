"""Requests by obstore: failed requests are repeated within a time limit; a busy server can set the pause.

``object_store``
    `ObjectStore`: the store of one URL.
``retries``
    Which requests are repeated after failures, and when.
``retry_after``
    The header ``Retry-After``.
"""
