"""Rules about the type and parameters of a transformation (OME-Zarr 0.6, "Transformation types").

Each check returns the number of axes of the output.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ozx.validation.nodes.place import MISSING, Check, JsonPlace, describe_found, expect_object, expect_objects
from ozx.validation.ome.levels import check_vector
from ozx.validation.report import Finding
from ozx.validation.wording import listed, shown
from ozx.zarr.json_reading import as_numbers

# Rules about matrices of affine transformations and rotations (OME-Zarr 0.6, "Matrix transformations").

# Writers round the numbers of a rotation.
_TOLERANCE = 1e-3
# An image has at most five axes; the determinant of a hostile matrix would take long.
_LARGEST = 16


def check_matrix(
    value: Any, place: JsonPlace, rows: int | None, columns: int | None
) -> Check[list[list[float]] | None]:
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


def check_rotation(matrix: Sequence[Sequence[float]], place: JsonPlace) -> Iterator[Finding]:
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


_RULE = "ome/transformation-parameters"
# Real transformations are not nested deeper than this.
_DEEPEST = 16
# The interpolations of the schema, and the name that the text gives to "cubic".
_METHODS = ("nearest", "linear", "cubic", "bspline-cubic")
_WITH_PATHS = ("affine", "rotation", "displacements", "coordinates")


class CheckedTransformation(NamedTuple):
    """One transformation: its document, and its numbers of input and output axes (None if unknown)."""

    document: dict[str, Any]
    place: JsonPlace
    start: int | None
    stop: int | None
    depth: int
    look: Look | None


#: Called with each transformation whose parameters are stored at a path; yields findings about that node.
Look = Callable[[CheckedTransformation], Iterator[Finding]]


def check_step(
    document: dict[str, Any],
    place: JsonPlace,
    start: int | None,
    stop: int | None,
    depth: int = 0,
    look: Look | None = None,
) -> Check[int | None]:
    """Check a transformation, and yield findings; return its number of output axes.

    `start` and `stop` are the numbers of axes of its input and output, or None if unknown.
    """
    # "`type` | string | yes | The type of the transformation, which determines the required and optional fields".
    kind = document.get("type", MISSING)
    check = _CHECKS.get(kind) if isinstance(kind, str) else None
    if check is None:
        message = f"expected a type out of {', '.join(_CHECKS)}; {describe_found(kind)}"
        yield place.finding("ome/transformations", message)
        return None
    if "name" in document and not isinstance(document["name"], str):
        yield (place / "name").finding(
            "ome/transformations", f"expected a name, a string; found {shown(document['name'])}"
        )
    if depth > _DEEPEST:
        yield place.finding("ome/transformations", f"expected at most {_DEEPEST} nested transformations; found more")
        return None
    step = CheckedTransformation(document, place, start, stop, depth, look)
    if look is not None and kind in _WITH_PATHS and isinstance(document.get("path"), str):
        yield from look(step)
    return (yield from check(step))


def _check_identity(step: CheckedTransformation) -> Check[int | None]:
    return (yield from _check_equal(step.place, step.start, step.stop))


def _check_equal(place: JsonPlace, start: int | None, stop: int | None) -> Check[int | None]:
    """Check that input and output have the same number of axes, else yield a finding; return the number."""
    if start is not None and stop is not None and start != stop:
        message = f"expected as many axes in the output as in the input; found {stop} and {start}"
        yield place.finding(_RULE, message)
    return start if start is not None else stop


def _check_vector(step: CheckedTransformation) -> Check[int | None]:
    # "scale": "Input and output dimensionality MUST be identical and MUST equal the the length of the `scale` array
    # (N)." Likewise "translation".
    count = yield from _check_equal(step.place, step.start, step.stop)
    vector = yield from check_vector(step.document, step.document["type"], step.place, count)
    return count if vector is None else len(vector)


def _check_map_axis(step: CheckedTransformation) -> Check[int | None]:
    count = yield from _check_equal(step.place, step.start, step.stop)
    # "Transformations MUST include a `mapAxis` field whose value is an array of integers". "The length of the array
    # MUST equal the number of dimensions in both the input and output coordinate systems. Each integer in the array
    # MUST be a valid zero-based index …. Each index MUST appear exactly once in the array."
    indices = yield from _check_indices(step.document, "mapAxis", step.place, count)
    if indices is not None and len(indices) != (len(indices) if count is None else count):
        message = f"expected one index for each of the {count} axes; found {len(indices)}"
        yield (step.place / "mapAxis").finding(_RULE, message)
    elif indices is not None and count is None and sorted(indices) != list(range(len(indices))):
        message = f"expected each index from 0 to {len(indices) - 1} once; found {shown(indices)}"
        yield (step.place / "mapAxis").finding(_RULE, message)
    return count if indices is None or count is not None else len(indices)


def _check_indices(step: dict[str, Any], key: str, place: JsonPlace, count: int | None) -> Check[list[int] | None]:
    """Check a list of distinct axis indexes below `count`, and yield findings; return the indexes."""
    value, where = step.get(key, MISSING), place / key
    if not isinstance(value, list) or not all(type(item) is int and item >= 0 for item in value):
        yield where.finding(_RULE, f"expected {key}, a list of axis indexes; {describe_found(value)}")
        return None
    wrong = [item for item in value if count is not None and item >= count]
    if wrong:
        yield where.finding(
            _RULE, f"expected indexes of the {count} axes, 0 to {(count or 1) - 1}; found {listed(wrong)}"
        )
        return None
    if len(set(value)) < len(value):
        yield where.finding(_RULE, f"expected each index once; found {shown(value)}")
        return None
    return value


def _check_project_axis(step: CheckedTransformation) -> Check[int | None]:
    # image.schema requires one of the two; the text gives no default for either.
    if "createdOutputs" not in step.document and "droppedInputs" not in step.document:
        yield step.place.finding(_RULE, "projectAxis: expected createdOutputs, droppedInputs or both; both are missing")
        return step.stop
    # "The values in the `createdOutputs` array MUST be unique." Likewise `droppedInputs`.
    created: list[int] | None = []
    dropped: list[int] | None = []
    if "createdOutputs" in step.document:
        created = yield from _check_indices(step.document, "createdOutputs", step.place, step.stop)
    if "droppedInputs" in step.document:
        dropped = yield from _check_indices(step.document, "droppedInputs", step.place, step.start)
    if created is None or dropped is None or step.start is None:
        return step.stop
    count = step.start - len(dropped) + len(created)
    if step.stop is not None and count != step.stop:
        message = f"expected {step.stop} axes in the output; found {count}: the input has {step.start}, "
        yield step.place.finding(_RULE, f"{message}{len(dropped)} are dropped, and {len(created)} created")
    elif any(index >= count for index in created):
        message = f"expected indexes of the {count} axes of the output; found {shown(created)}"
        yield (step.place / "createdOutputs").finding(_RULE, message)
    return count if step.stop is None else step.stop


def _check_affine(step: CheckedTransformation) -> Check[int | None]:
    # "the outer array MUST be length `M` and the inner arrays MUST be length `N+1`."
    if (yield from _is_in_document(step.document, "affine", step.place)):
        columns = None if step.start is None else step.start + 1
        matrix = yield from check_matrix(step.document["affine"], step.place / "affine", step.stop, columns)
        return step.stop if matrix is None else len(matrix)
    return step.stop


def _check_rotation(step: CheckedTransformation) -> Check[int | None]:
    # "Input and output dimensionality (N) MUST be identical." "the outer array MUST be length `N` and the inner arrays
    # MUST be length `N`."
    count = yield from _check_equal(step.place, step.start, step.stop)
    if (yield from _is_in_document(step.document, "rotation", step.place)):
        value, where = step.document["rotation"], step.place / "rotation"
        size = count if count is not None or not isinstance(value, list) else len(value)
        matrix = yield from check_matrix(value, where, size, size)
        if matrix is not None:
            yield from check_rotation(matrix, where)
            return len(matrix)
    return count


def _is_in_document(step: dict[str, Any], key: str, place: JsonPlace) -> Check[bool]:
    """Return True if the parameters are numbers in the document, False if they are an array at a path.

    If both or neither are given, yield a finding.
    """
    # "one of: `"affine":List[List[number]]`, `"path":str`".
    if key in step and "path" in step:
        yield place.finding(_RULE, f"expected {key} or path; found both")
        return True
    if key not in step and not isinstance(step.get("path"), str):
        yield place.finding(_RULE, f"expected {key}, a matrix, or path, the path of an array; both are missing")
        return False
    return key in step


def _check_sequence(step: CheckedTransformation) -> Check[int | None]:
    # "A non-empty array of transformations." "apply the first transformation in the array …. Next, apply the second
    # transformation to the result."
    where = step.place / "transformations"
    items = yield from expect_objects(step.document.get("transformations", MISSING), where, "ome/transformations")
    count = step.start
    for number, (inner, item) in enumerate(items, 1):
        count = yield from check_step(
            item, inner, count, step.stop if number == len(items) else None, step.depth + 1, step.look
        )
    return step.stop if not items else count


def _check_field(step: CheckedTransformation) -> Check[int | None]:
    # The `path` is "The location of the coordinate multiscale group in this (or another) container."
    if not isinstance(step.document.get("path"), str):
        found = shown(step.document["path"]) if "path" in step.document else "it is missing"
        message = f"{step.document['type']}: expected the path of an image in the field `path`; found {found}"
        yield step.place.finding(_RULE, message)
    # "The interpolation attributes MAY be provided." The text's list is not exhaustive.
    if "interpolation" in step.document and not isinstance(step.document["interpolation"], str):
        message = f"expected interpolation, a string; found {shown(step.document['interpolation'])}"
        yield (step.place / "interpolation").finding(_RULE, message)
    elif step.document.get("interpolation", "linear") not in _METHODS:
        message = f"coordinate_transformations.schema allows only the interpolations {', '.join(_METHODS[:3])}; found "
        yield (step.place / "interpolation").finding("ome/schema", message + shown(step.document["interpolation"]))
    # By the Constraints, displacements "require `M=N`".
    if step.document["type"] == "displacements":
        return (yield from _check_equal(step.place, step.start, step.stop))
    return step.stop


def _check_bijection(step: CheckedTransformation) -> Check[int | None]:
    # "Its input and output spaces MUST have equal dimension. The input and output dimensions for the both the forward
    # and inverse transformations MUST match bijection's input and output space dimensions."
    count = yield from _check_equal(step.place, step.start, step.stop)
    for key, ends in (("forward", ("input", "output")), ("inverse", ("output", "input"))):
        inner = yield from expect_object(step.document.get(key, MISSING), step.place / key, "ome/transformations")
        if inner is None:
            continue
        yield from check_step(inner, step.place / key, count, count, step.depth + 1, step.look)
        # "the `forward` transformation's `input` and `output` are understood to match the bijection's, and the
        # `inverse` transformation's `input` (`output`) matches the bijection's `output` (`input`)".
        for ours, theirs in zip(("input", "output"), ends, strict=True):
            if ours in inner and theirs in step.document and inner[ours] != step.document[theirs]:
                message = f"expected the {theirs} of the bijection, {shown(step.document[theirs])}; "
                message += f"found {shown(inner[ours])}"
                yield (step.place / key / ours).finding("ome/transformation-ends", message)
    return count


def _check_by_dimension(step: CheckedTransformation) -> Check[int | None]:
    # "MUST be an array of objects where each object MUST contain the fields `inputAxes`, `outputAxes` and
    # `transformation`."
    where = step.place / "transformations"
    reached: list[int] = []
    is_whole = True
    for inner, item in (
        yield from expect_objects(step.document.get("transformations", MISSING), where, "ome/transformations")
    ):
        inputs = yield from _check_indices(item, "inputAxes", inner, step.start)
        outputs = yield from _check_indices(item, "outputAxes", inner, step.stop)
        is_whole = is_whole and outputs is not None
        reached += outputs or []
        value = item.get("transformation", MISSING)
        part = yield from expect_object(value, inner / "transformation", "ome/transformations")
        if part is not None:
            # "The `inputAxes` and `outputAxes` arrays of each item MUST have the same length as that transformation's
            # parameter arrays."
            counts = [None if axes is None else len(axes) for axes in (inputs, outputs)]
            yield from check_step(part, inner / "transformation", counts[0], counts[1], step.depth + 1, step.look)
    # "Every axis index in the parent byDimension's `output` coordinate system MUST appear in exactly one child
    # transformation's `outputAxes` array."
    count = len(set(reached)) if step.stop is None else step.stop
    if is_whole and sorted(reached) != list(range(count)):
        message = f"expected each of the {count} axes of the output once in outputAxes; found {shown(sorted(reached))}"
        yield where.finding(_RULE, message)
    return count


# "The following transformations are supported".
_CHECKS: dict[str, Callable[[CheckedTransformation], Check[int | None]]] = {
    "identity": _check_identity,
    "mapAxis": _check_map_axis,
    "projectAxis": _check_project_axis,
    "translation": _check_vector,
    "scale": _check_vector,
    "affine": _check_affine,
    "rotation": _check_rotation,
    "sequence": _check_sequence,
    "displacements": _check_field,
    "coordinates": _check_field,
    "bijection": _check_bijection,
    "byDimension": _check_by_dimension,
}
