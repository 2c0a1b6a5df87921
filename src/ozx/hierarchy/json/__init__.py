"""Parsing, comparing and writing JSON documents.

``documents``, ``limits``
    Parsing and writing of metadata documents; the largest allowed document.
``strict``
    Parsing with a list of the features that other programs refuse or read differently.
``values``
    Typed access to values that may be missing or of another type.
``changes``
    Changed values written in the style of the document.
"""
