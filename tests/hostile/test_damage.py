"""Archives of many makes, damaged in one or two places: what is called right is right. The soak tries a million."""

import random

import pytest
from damage import DAMAGES, Base, bases, check, mutate, wrapped_archive

TRIES = 300


@pytest.mark.parametrize("base", bases(), ids=lambda base: base.name)
def test_an_archive_without_damage_is_read_and_complete(base):
    outcome, wrong = check(base, base.data)
    assert wrong == []
    assert set(outcome) == {"recover: complete", "store: read"}


@pytest.mark.ci
def test_no_wrong_value_is_called_right():
    rng, findings = random.Random("tests"), []
    for number in range(TRIES):
        base = rng.choice(bases())
        data, what = mutate(base, rng)
        findings += [(number, base.name, what, text) for text in check(base, data)[1] if text.startswith("recover")]
    assert findings == []


def test_a_value_whose_inflated_size_wrapped_is_refused_and_recovered():
    """The deflated value is shorter than 512 bytes, and its size modulo 512 does not show how often it wrapped."""
    base = next(base for base in bases() if base.name == "wrapped, by minizip")
    values = base.values | {"OME/x": bytes(3_000)}
    data = wrapped_archive(values, deflated=["OME/x"])
    outcome, wrong = check(Base("a long text", data, values, wraps=True), data)
    assert (set(outcome), wrong) == ({"recover: complete", "store: refused"}, [])


def test_zeros_that_both_headers_call_empty_leave_no_evidence():
    base = next(base for base in bases() if base.name == "by zipfile, stored")
    for key, outcome in (
        ("0/c/15/0", "store: read, with zeros that both headers call empty"),
        ("0/c/0/0", "store: refused"),
    ):
        data, name = bytearray(base.data), key.encode()
        for record in base.records:
            if data[record.start : record.stop].find(name) >= 0 and record.kind in (b"PK\3\4", b"PK\1\2"):
                start = record.start + (14 if record.kind == b"PK\3\4" else 16)
                data[start : start + 12] = bytes(12)
        outcomes, wrong = check(base, bytes(data))
        assert outcome in outcomes
        assert "recover: complete" not in outcomes
        assert wrong == []


def test_the_same_seed_makes_the_same_damage():
    first, second = (mutate(bases()[0], random.Random(5)) for _ in range(2))
    assert first == second


@pytest.mark.parametrize("damage", dict.fromkeys(DAMAGES), ids=lambda damage: damage.__name__.strip("_"))
def test_each_damage_changes_something(damage):
    assert any(damage(bases()[4], random.Random(seed)) for seed in range(5))
