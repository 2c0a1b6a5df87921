"""Entry names: decoding, tables and look-up.

``decoding``
    Bytes to text, by UTF-8, code page 437 or a Unicode Path field; names that are refused.
``table``, ``index``
    A million names in one buffer; look-up of a name by its hash.
``repeated``
    Several entries of one name.
"""
