"""Usual names of the rows of a plate."""

from __future__ import annotations


def row_name(number: int) -> str:
    """Return the name of a row, counted from 0: A to Z, then AA.

    Examples
    --------
    >>> [row_name(number) for number in (0, 25, 26, 31, 702)]
    ['A', 'Z', 'AA', 'AF', 'AAA']
    """
    name, rest = "", number + 1
    while rest:
        rest, place = divmod(rest - 1, 26)
        name = chr(ord("A") + place) + name
    return name
