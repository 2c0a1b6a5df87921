"""Parsing, comparing and writing JSON documents.

``documents``, ``limits``
    Bytes to a metadata document and back; how large a document may be.
``strict``
    The same with a list of what other programs refuse or read differently.
``values``
    Typed access to values that may be missing or of another type.
``changes``
    Changed values written in the style of the document.
"""
