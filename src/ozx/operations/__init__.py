"""Operations of the library and the command line: one module per command, one result type per operation.

No command calls another; code that two commands need is in a package of a lower layer.
"""
