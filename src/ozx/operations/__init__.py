"""Operations of the library and the command line: one module per command, one result type per operation.

No verb calls another; what two of them need stands in a room below.
"""
