"""Rules about matrices of affine transformations and rotations (OME-Zarr 0.6, "Matrix transformations")."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ozx.hierarchy.json.values import as_numbers
from ozx.validation.nodes.place import Check, Place
from ozx.validation.report import Finding
from ozx.validation.wording import shown

# Writers round the numbers of a rotation.
_TOLERANCE = 1e-3
# An image has at most five axes; the determinant of a hostile matrix would take long.
_LARGEST = 16


def check_matrix(value: Any, place: Place, rows: int | None, columns: int | None) -> Check[list[list[float]] | None]:
    """Check a matrix and its numbers of `rows` and `columns` (None: any number); return the matrix.

    If the matrix is invalid, yield a finding and return None.
    """
    # "When stored as a 2D json array, the inner array contains rows".
    found = [as_numbers(row) for row in value] if isinstance(value, list) else []
    matrix = [list(row) for row in found if row is not None]
    if not matrix or len(matrix) < len(found) or len({len(row) for row in matrix}) > 1:
        message = f"expected {place.steps[-1]}, a list of rows of numbers, all of one length; found {shown(value)}"
        yield place.finding("ome/transformation-parameters", message)
        return None
    shape = len(matrix), len(matrix[0])
    if any(wanted not in (None, length) for wanted, length in zip((rows, columns), shape, strict=True)):
        expected = " and ".join(
            f"{wanted} {name}" for wanted, name in ((rows, "rows"), (columns, "columns")) if wanted is not None
        )
        message = f"expected {expected}, as the axes of input and output require; found {shape[0]} and {shape[1]}"
        yield place.finding("ome/transformation-parameters", message)
        return None
    return matrix


def check_rotation(matrix: Sequence[Sequence[float]], place: Place) -> Iterator[Finding]:
    """Yield a finding if a square matrix is not a rotation."""
    if len(matrix) > _LARGEST:
        return
    # "MUST have determinant equal to one, with orthonormal rows and columns."
    size = range(len(matrix))
    products = [[sum(a * b for a, b in zip(matrix[i], matrix[j], strict=True)) for j in size] for i in size]
    if any(abs(products[i][j] - (i == j)) > _TOLERANCE for i in size for j in size):
        yield place.finding("ome/rotation", "expected rows of length 1 at right angles to each other; found other rows")
    elif _determinant([list(row) for row in matrix]) < 0:
        yield place.finding("ome/rotation", "expected the determinant 1; found -1, so the matrix is a reflection")


def _determinant(matrix: list[list[float]]) -> float:
    """Return the determinant of a matrix by Gaussian elimination, which overwrites the matrix."""
    result = 1.0
    for column in range(len(matrix)):
        pivot = max(range(column, len(matrix)), key=lambda row: abs(matrix[row][column]))
        if not matrix[pivot][column]:
            return 0.0
        if pivot != column:
            matrix[column], matrix[pivot] = matrix[pivot], matrix[column]
            result = -result
        result *= matrix[column][column]
        for row in range(column + 1, len(matrix)):
            factor = matrix[row][column] / matrix[column][column]
            matrix[row] = [a - factor * b for a, b in zip(matrix[row], matrix[column], strict=True)]
    return result
