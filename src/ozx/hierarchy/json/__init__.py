"""Parsing, comparing and writing JSON documents.

``reading``
    Strict parsing of metadata documents within limits, typed access to their values, and writing.
``changes``
    Changed values written in the style of the document.
"""
