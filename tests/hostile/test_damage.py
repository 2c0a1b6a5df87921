"""Archives of many makes, damaged in one or two places: what is called right is right. The soak tries a million."""

import random

import pytest
from damage import DAMAGES, bases, check, mutate

TRIES = 300


@pytest.mark.parametrize("base", bases(), ids=lambda base: base.name)
def test_an_archive_without_damage_is_read_and_complete(base):
    outcome, wrong = check(base, base.data)
    assert wrong == []
    assert set(outcome) == {"recover: complete", "store: read"}


def test_no_wrong_value_is_called_right():
    rng, findings = random.Random("tests"), []
    for number in range(TRIES):
        base = rng.choice(bases())
        data, what = mutate(base, rng)
        findings += [(number, base.name, what, text) for text in check(base, data)[1] if text.startswith("recover")]
    assert findings == []


def test_the_same_seed_makes_the_same_damage():
    first, second = (mutate(bases()[0], random.Random(5)) for _ in range(2))
    assert first == second


@pytest.mark.parametrize("damage", dict.fromkeys(DAMAGES), ids=lambda damage: damage.__name__.strip("_"))
def test_each_damage_changes_something(damage):
    assert any(damage(bases()[4], random.Random(seed)) for seed in range(5))
