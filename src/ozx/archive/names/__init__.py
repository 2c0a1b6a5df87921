"""Entry names: decoding, tables and look-up.

``decoding``
    Bytes to text, by UTF-8, code page 437 or a Unicode Path field; names that are refused.
``table``
    A million names in one buffer; look-up of a name by its hash.
"""
