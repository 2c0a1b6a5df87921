"""Two stores write one file, in every order and with every answer about locks: the file is of one writer, and whole."""

import errno
import json
import os
import zipfile
from itertools import combinations, product

import pytest
from stores import put

from ozx import OzxStore, ResourceError
from ozx.atomic import locks

pytestmark = pytest.mark.skipif(locks.fcntl is None, reason="Windows has no locks")

ANSWERS = (0, errno.ENOLCK, errno.EIO, errno.EACCES)
# The steps of each writer: a document, a value, then the end. The places of one writer's steps are an order.
STEPS = ("zarr.json", "c/0", "close")
ORDERS = [[int(place in one) for place in range(6)] for one in combinations(range(6), 3)]


def _value(step, writer):
    if step == "zarr.json":
        return json.dumps({"zarr_format": 3, "node_type": "group", "attributes": {"writer": writer}}).encode()
    return b"%d" % writer * 5000


def _step(store, step, writer):
    """Take one step of a writer; return whether it was not refused."""
    try:
        store.close() if step == "close" else put(store, step, _value(step, writer))
    except ResourceError:
        return False
    return True


@pytest.mark.parametrize("answers", list(product(ANSWERS, repeat=2)))
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.filterwarnings("ignore::ozx.errors.OzxWarning")
def test_a_file_is_of_one_writer_and_has_all_that_was_not_refused(tmp_path, monkeypatch, answers, order):
    flock, target = locks.fcntl.flock, str(tmp_path / "a.ozx")

    def answer(descriptor, operation):
        if code := answers[writer]:
            raise OSError(code, os.strerror(code))
        flock(descriptor, operation)

    monkeypatch.setattr(locks.fcntl, "flock", answer)
    stores = [OzxStore(target, mode="w", sync=False, keep_partial=False) for _ in answers]
    steps, written = [iter(STEPS), iter(STEPS)], [set(), set()]
    for writer in order:
        step = next(steps[writer])
        is_done = _step(stores[writer], step, writer)
        if step != "close" and is_done:
            written[writer].add(step)
        if step == "close" and is_done and written[writer]:
            with zipfile.ZipFile(target) as file:
                found = {name: file.read(name).strip() for name in file.namelist()}
            assert found == {step: _value(step, writer) for step in written[writer]}
    assert os.path.exists(target) or errno.EACCES in answers  # which always says that another writer is there
