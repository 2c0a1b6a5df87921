"""Output to objects at URLs, with one client for each kind of object store.

``client``
    `ObjectClient`: the requests that an upload needs.
``opening``
    The client of a URL.
``s3``, ``azure``, ``gcs``
    S3 by boto3, Azure by azure-storage-blob, Google Cloud Storage by google-cloud-storage.
``settings``
    Options and environment of a store, under the names that obstore uses.
"""
