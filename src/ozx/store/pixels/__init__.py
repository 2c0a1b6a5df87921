"""Read and write pixels of arrays in an archive, with few file reads and with codecs running in threads.

``pipeline``, ``configured``
    The codec pipeline that zarr-python calls, and the class for its configuration.
``basic``
    Windows of one array, read and written: integers, slices and an ellipsis.
``plan``, ``blocks``
    The bytes to read for some pixels: spans of the file, joined into blocks, which threads read and decode.
``remote_plan``
    The same for an archive behind a URL, in few round trips.
``write_plan``, ``encoding``
    The chunks that a request writes, and the new values of its chunks and shards.
``selections``
    The inner chunks that a selection touches.
"""
