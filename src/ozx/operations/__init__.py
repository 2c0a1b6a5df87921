"""The operations of library and command line: one module per verb, and one result type per operation.

No verb calls another; what two of them need stands in a room below.
"""
