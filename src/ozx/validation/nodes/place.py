"""The position of a value in a metadata document, findings about the value, and checks of its type."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable
from typing import Any, NamedTuple, TypeVar

from ozx.validation.report import Finding, Severity
from ozx.validation.rules.findings import make_finding
from ozx.validation.wording import cut_short, pointer, shown

_T = TypeVar("_T")

#: A check that yields findings, and returns the values that it could read.
Check = Generator[Finding, None, _T]


class JsonPlace(NamedTuple):
    """A value and its position in a metadata document.

    Examples
    --------
    >>> place = JsonPlace("0/zarr.json", "/attributes") / "a/b" / 0
    >>> place.pointer
    '/attributes/a~1b/0'
    """

    entry: str
    # JSON pointer (RFC 6901) to the start of the steps.
    base: str = ""
    # Keys and indexes from `base` to the value. They become a pointer only for a finding, which saves time: a plate has
    # 100,000 places.
    steps: tuple[str | int, ...] = ()

    def __truediv__(self, step: str | int) -> JsonPlace:
        return JsonPlace(self.entry, self.base, (*self.steps, step))

    def below(self, *steps: str | int) -> JsonPlace:
        """Return the position of a member of this value."""
        return JsonPlace(self.entry, self.base, (*self.steps, *steps))

    @property
    def pointer(self) -> str:
        """The JSON pointer of the value in the document."""
        return self.base + pointer(*self.steps)

    def finding(self, rule: str, message: str, *, severity: Severity | None = None, hint: str | None = None) -> Finding:
        """Return a finding of `rule` about this value."""
        return make_finding(rule, message, entry=self.entry, pointer=self.pointer or None, severity=severity, hint=hint)


#: The value of a missing key, as in ``document.get(key, MISSING)``, because null is a value.
MISSING = object()


def describe_found(value: Any) -> str:
    """Return the end of a message about a value of the wrong type: ``found …``, or ``it is missing`` for `MISSING`."""
    return "it is missing" if value is MISSING else f"found {shown(value)}"


def repeated(values: Iterable[_T]) -> list[_T]:
    """Return the values that occur more than once, each of them once."""
    return [value for value, count in Counter(values).items() if count > 1]


def expect_object(value: Any, place: JsonPlace, rule: str) -> Check[dict[str, Any] | None]:
    """Return `value` if it is an object; otherwise yield a finding and return None."""
    if isinstance(value, dict):
        return value
    yield place.finding(rule, _message(place, "an object", value))
    return None


def expect_list(value: Any, place: JsonPlace, rule: str, of: str = "a list") -> Check[list[Any] | None]:
    """Return `value` if it is a list; otherwise yield a finding and return None."""
    if isinstance(value, list):
        return value
    yield place.finding(rule, _message(place, of, value))
    return None


def expect_objects(
    value: Any, place: JsonPlace, rule: str, *, may_be_empty: bool = False
) -> Check[list[tuple[JsonPlace, dict[str, Any]]]]:
    """Return the objects in a list with their positions; yield a finding for each item that is not an object."""
    items = yield from expect_list(value, place, rule, "a list of objects")
    if items is None:
        return []
    if not items and not may_be_empty:
        yield place.finding(rule, f"{_name(place)}: expected at least one object; the list is empty")
    found = []
    for number, item in enumerate(items):
        if isinstance(item, dict):
            found.append((place / number, item))
        else:
            yield (place / number).finding(rule, _message(place / number, "an object", item))
    return found


def as_integer(value: Any) -> int | None:
    """Return an integer, even if it is written as 1.0 (JSON Schema, "integer"); None for any other value.

    Examples
    --------
    >>> as_integer(1), as_integer(1.0), as_integer(1.5), as_integer(True)
    (1, 1, None, None)
    """
    is_whole = type(value) is int or (type(value) is float and value.is_integer())
    return int(value) if is_whole else None


def expect_text(
    parent: dict[str, Any],
    key: str,
    place: JsonPlace,
    rule: str,
    *,
    is_optional: bool = False,
    may_be_empty: bool = False,
) -> Check[str | None]:
    """Return ``parent[key]`` if it is a string; otherwise yield a finding and return None."""
    value = parent.get(key, MISSING)
    if (isinstance(value, str) and (value or may_be_empty)) or (is_optional and value is MISSING):
        return value if isinstance(value, str) else None
    yield place.finding(rule, _missing_or_wrong(place, key, "a string", value))
    return None


def expect_integer(
    parent: dict[str, Any],
    key: str,
    place: JsonPlace,
    rule: str,
    *,
    least: int | None = None,
    is_optional: bool = False,
) -> Check[int | None]:
    """Return ``parent[key]`` if it is an integer >= `least`; otherwise yield a finding and return None."""
    value = parent.get(key, MISSING)
    number = as_integer(value)
    if number is not None and (least is None or number >= least):
        return number
    if not (is_optional and value is MISSING):
        expected = "an integer" if least is None else f"an integer of at least {least}"
        yield place.finding(rule, _missing_or_wrong(place, key, expected, value))
    return None


def _missing_or_wrong(place: JsonPlace, key: str, expected: str, value: Any) -> str:
    if value is MISSING:
        return f"{_name(place)}: expected {key}, {expected}; it is missing"
    return f"{_name(place / key)}: expected {expected}; found {shown(value)}"


def _message(place: JsonPlace, expected: str, value: Any) -> str:
    return f"{_name(place)}: expected {expected}; {describe_found(value)}"


def _name(place: JsonPlace) -> str:
    """Return the end of a JSON pointer, written as ``datasets[1].path``."""
    name = ""
    for part in place.pointer.removeprefix("/attributes").removeprefix("/ome").split("/")[1:]:
        name += f"[{part}]" if part.isdigit() else f"{'.' if name else ''}{cut_short(part)}"
    return name or "ome"
