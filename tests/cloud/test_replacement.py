"""Parts of an object that reuses another: within the limits of S3, together exactly the runs."""

from hypothesis import given
from hypothesis import strategies as st

from ozx.cloud.replacement import LEAST_PART, UploadedPart, length_of, plan_parts
from ozx.places.byte_source import Run

MIB, GIB = 1 << 20, 1 << 30
NEW = bytes(3 * MIB)


def spans(parts: list[UploadedPart]) -> list[tuple[str, int, int]]:
    """Return the runs of all parts, neighbours joined: what the object consists of."""
    found: list[tuple[str, int, int]] = []
    for part in parts:
        for run in (part,) if isinstance(part, Run) else part:
            kind, start = ("old", run.offset) if run.data is None else ("new", 0)
            if found and found[-1][0] == kind and (kind == "new" or sum(found[-1][1:]) == start):
                found[-1] = (kind, found[-1][1], found[-1][2] + run.length)
            else:
                found.append((kind, start, run.length))
    return found


@given(st.lists(st.tuples(st.integers(0, len(NEW)), st.integers(1, 40 * MIB)), max_size=6), st.integers(1, len(NEW)))
def test_parts_are_within_the_limits_and_hold_everything(pieces, tail):
    runs, offset = [], 0
    for new, old in pieces:
        runs += [Run.of(NEW[:new])] if new else []
        runs.append(Run(offset, old))
        offset += old + 1
    runs.append(Run.of(NEW[:tail]))
    parts = plan_parts(runs)
    assert spans(parts) == spans([(run,) for run in runs])
    assert all(length_of(part) >= LEAST_PART for part in parts[:-1])
    assert isinstance(parts[-1], tuple)


def test_a_file_of_5_tb():
    parts = plan_parts([Run.of(b"x"), Run(1, 5 * 10**12), Run.of(b"y")])
    assert len(parts) < 10_000
    assert max(map(length_of, parts)) <= 5 * GIB
    assert sum(map(length_of, parts)) == 5 * 10**12 + 2


def test_many_documents_between_data_join():
    runs = [run for number in range(12_000) for run in (Run.of(b"document"), Run(number * 9 * MIB, 9 * MIB))]
    assert len(plan_parts([*runs, Run.of(b"tail")])) <= 10_000


def test_more_changes_than_parts_are_sent_in_longer_parts():
    """No copied range is shorter than a part that joins its neighbours, so that all must be sent, in few parts."""
    runs = [run for n in range(20_000) for run in (Run.of(b"x"), Run(n * 15 * MIB, 14 * MIB))]
    parts = plan_parts([*runs, Run.of(b"directory")])
    assert len(parts) <= 10_000
    assert sum(map(length_of, parts)) == sum(run.length for run in runs) + 9
