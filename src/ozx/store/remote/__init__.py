"""Stores that write to URLs.

``writing``
    `RemoteWriteSession`: the values of an archive that is uploaded at the end.
"""
