"""Replacement of an S3 object by a similar object: the server itself copies the unchanged bytes.

``parts``
    The parts of the new object: bytes to send, and ranges that the server copies.
``replacement``
    The requests that make the new object, which appears only if the old one is unchanged.
"""
