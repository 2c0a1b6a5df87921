"""Writing to object stores: uploads, and the edit of an object by URL.

``s3``
    Clients of S3, by boto3; creation of one object.
``upload``
    Upload of one object in parts, or of an archive while it is written.
``replacement``
    Replacement of an S3 object by one with mostly the same bytes.
"""
