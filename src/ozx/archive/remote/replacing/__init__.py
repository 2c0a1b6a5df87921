"""An object of S3 replaced by one that has most of its bytes: the server copies them, so that they are not transferred.

``parts``
    The parts of the new object: bytes to send, and ranges that the server copies.
``properties``
    Tags, access rights, encryption, storage class and headers, which the new object keeps.
``replacement``
    The requests that make the new object, which appears only if the old one is unchanged.
"""
