"""The bytes that an operation counts add up to the total that it announces."""

import threading

import numpy as np
import pytest
import tifffile
from hierarchies import FIXTURES
from packed import pack_tree

import ozx
from ozx.progress import NO_PROGRESS, StoppableProgress, begin_phase

IMAGE = FIXTURES / "image.ome.zarr"


class Counting:
    """Progress that records its calls."""

    def __init__(self):
        self.phases = []
        self.ended = 0
        self.lock = threading.Lock()

    def start(self, description, total):
        del description
        self.phases.append([total, 0])

    def advance(self, amount):
        with self.lock:
            phase = self.phases[-1]
            phase[1] += amount
            assert phase[0] is None or phase[1] <= phase[0]

    def stop(self):
        self.ended += 1


def damaged(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)
    return path


def stack(folder):
    path = folder / "stack.tif"
    tifffile.imwrite(path, np.arange(3 * 100 * 120, dtype="uint16").reshape(3, 100, 120), photometric="minisblack")
    return path


def packed_again(out, **told):
    ozx.pack(IMAGE, out)
    ozx.pack(IMAGE, out, resume=True, verify=True, **told)


OPERATIONS = {
    "pack": lambda packed, out, **told: ozx.pack(IMAGE, out / "a.ozx", **told),
    "pack and verify": lambda packed, out, **told: ozx.pack(IMAGE, out / "a.ozx", verify=True, **told),
    "pack again": lambda packed, out, **told: packed_again(out / "a.ozx", **told),
    "pack in shards": lambda packed, out, **told: ozx.pack(IMAGE, out / "a.ozx", shards="auto", **told),
    "unpack": lambda packed, out, **told: ozx.unpack(packed, out / "a.ome.zarr", **told),
    "repack": lambda packed, out, **told: ozx.repack(packed, out / "a.ozx", shards="auto", verify=True, **told),
    "repack into a directory": lambda packed, out, **told: ozx.repack(packed, out / "a.ome.zarr", **told),
    "extract": lambda packed, out, **told: ozx.extract(packed, out / "a.ozx", levels="1:", **told),
    "export": lambda packed, out, **told: ozx.export(packed, out / "a.tif", **told),
    "recover": lambda packed, out, **told: ozx.recover(damaged(packed), out / "a.ozx", **told),
    "validate": lambda packed, out, **told: ozx.validate(packed, level="data", **told),
    "import": lambda packed, out, **told: ozx.import_image(stack(out), **told),
    "write": lambda packed, out, **told: ozx.write_image(out / "a.ozx", np.zeros((2, 300, 300), "u1"), **told),
}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_operation_counts_its_total(tmp_path, operation):
    packed = pack_tree(IMAGE, tmp_path / "packed.ozx")
    progress = Counting()
    OPERATIONS[operation](packed, tmp_path, progress=progress)
    assert progress.phases
    assert progress.ended == len(progress.phases)
    assert all(total > 0 and count == total for total, count in progress.phases)


def test_a_phase_neither_exceeds_nor_misses_its_total():
    progress = Counting()
    phase = begin_phase(progress, "a", 100)
    phase.advance(30)
    phase.stop()
    phase = begin_phase(progress, "b", 100)
    phase.advance(130)
    phase.stop()
    assert progress.phases == [[100, 100], [100, 100]]
    assert progress.ended == 2
    begin_phase(progress, "c", None).advance(7)
    assert progress.phases[-1] == [None, 7]


def test_what_needs_no_total_stays_as_it_is():
    batch = StoppableProgress(Counting())
    assert begin_phase(batch, "a", 3) is batch
    assert begin_phase(NO_PROGRESS, "a", 3) is NO_PROGRESS
