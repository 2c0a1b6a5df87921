"""Requests by obstore: repeated after failures, with the pause that a busy server asks for, within a time limit.

``object_store``
    `ObjectStore`: the store of one URL.
``retries``
    Which failures are repeated, and when.
``retry_after``
    The header ``Retry-After``.
"""
