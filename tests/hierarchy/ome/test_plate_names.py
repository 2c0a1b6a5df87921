"""The names of rows."""

from itertools import product
from string import ascii_uppercase

from ozx.hierarchy.ome.model import row_name


def test_rows_are_named_as_columns_of_a_spreadsheet():
    names = ["".join(letters) for length in (1, 2) for letters in product(ascii_uppercase, repeat=length)]
    assert [row_name(number) for number in range(26 * 27)] == names
