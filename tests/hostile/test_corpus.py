"""What the fuzzer begins with, and what it has found and kept: every target takes it, as it takes any bytes."""

import random
import signal
import sys
from pathlib import Path

import pytest
from keeping import keep_smallest, steps_of
from mutations import mutate_bytes, mutate_document
from seeds import seeds
from targets import TARGETS

import fuzz

CORPUS = Path(__file__).parent.parent.parent / "fuzz" / "corpus"


@pytest.mark.parametrize("target", TARGETS)
def test_seeds_and_corpus(target):
    kept = [path.read_bytes() for path in sorted((CORPUS / target).iterdir())]
    assert kept
    for data in [*kept, *seeds()[target].values()]:
        TARGETS[target](data)


def test_the_shortest_that_reach_all_are_kept(tmp_path):
    target, few = TARGETS["zarr_json"], [b"{}", b'{"zarr_format": 3, "node_type": "group"}']
    (tmp_path / "old").write_bytes(few[1] + b" ")
    assert keep_smallest(target, few[:1], [few[1], few[0] + b" "], tmp_path) == 1
    (kept,) = tmp_path.iterdir()
    assert kept.read_bytes() == few[1]
    assert steps_of(target, few[1]) - steps_of(target, few[0])


@pytest.mark.parametrize("code", [0, 1, 77, -signal.SIGKILL])
def test_one_target_that_fails_or_is_ended_by_a_signal_is_the_exit_code(monkeypatch, code):
    monkeypatch.setattr(sys, "argv", ["fuzz.py"])
    monkeypatch.setattr(fuzz, "run", lambda target, *_, keep: code if target == "shard_index" else 0)
    assert fuzz.main() == bool(code)


ARCHIVE = b"PK\x03\x04" + bytes(range(200))
DOCUMENT = {"zarr_format": 3, "shape": [1, 2], "attributes": {"ome": {"version": "0.5"}}}


@pytest.mark.parametrize(
    "mutate", [lambda rng: mutate_bytes(ARCHIVE, rng, ARCHIVE[::-1]), lambda rng: repr(mutate_document(DOCUMENT, rng))]
)
def test_one_seed_makes_the_same_damages(mutate):
    first, second = ([mutate(rng) for _ in range(200)] for rng in (random.Random("seed"), random.Random("seed")))
    assert first == second
    assert len(set(first)) > 100
    assert DOCUMENT["shape"] == [1, 2]
