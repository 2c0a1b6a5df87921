"""Read and write pixels of arrays in an archive, with few file reads and with codecs running in threads.

``pipeline``, ``configured``
    The codec pipeline that zarr-python calls, and the class for its configuration.
``request``, ``blocks``
    A request that reads: its plan, and spans of the file, joined into blocks, which threads read and decode.
``remote_request``
    A request that reads from an archive behind a URL.
``update``, ``encoding``
    A request that writes, and the new values of its chunks and shards.
``threads``
    The threads of all requests.
``shard_indexes``, ``selections``
    The kept indexes of shards, and the inner chunks that a selection touches.
"""
