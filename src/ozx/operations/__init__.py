"""One verb, one file, one result: what the library offers and the command line shows.

No verb calls another; what two of them need stands in a room below.
"""
