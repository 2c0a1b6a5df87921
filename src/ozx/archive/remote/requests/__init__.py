"""Requests by obstore: failed requests are repeated within a time limit; a busy server can set the pause.

``object_store``
    `ObjectStore`: the store of one URL.
``retries``
    The rules by which failed requests are repeated, and the pauses before them.
"""
