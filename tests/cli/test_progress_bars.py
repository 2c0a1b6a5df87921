"""Bars of bytes and of files: their totals."""

from ozx.cli.progress_bars import RichProgress
from ozx.places.remote.deadline import count_traffic


def tasks(bars):
    return [(task.description, task.total, task.completed) for task in bars._bars.tasks]


def test_a_phase_has_its_own_total_or_none_at_all():
    bars = RichProgress(1)
    bars.advance(5)  # before a phase: nothing to count
    assert tasks(bars) == []
    bars.start("3 hierarchies", None)
    bars.advance(102_901_715)
    assert tasks(bars) == [("3 hierarchies", None, 102_901_715)]
    bars.start("cells.ozx", 10)
    assert tasks(bars) == [("cells.ozx", 10, 0)]
    bars.stop()
    bars.stop()
    assert tasks(bars) == []


def test_a_batch_counts_files_and_shows_bytes():
    bars = RichProgress(3)
    bars.start("3 hierarchies", None)
    bars.advance(5 << 20)
    bars.finish_file()
    bars.stop()
    assert tasks(bars) == [("", 3, 1)]
    assert bars._bars.tasks[0].fields["bytes"] == 5 << 20
    volume = bars._bars.columns[-3]
    assert str(volume.render(bars._bars.tasks[0])).startswith("5.0 MiB ")


def test_requests_and_received_bytes_are_shown():
    bars = RichProgress(1)
    bars.start("cells.ozx", 10)
    requests = bars._bars.columns[-1]
    assert str(requests.render(bars._bars.tasks[0])) == ""
    for size in (5 << 20, 0, 0):
        count_traffic(size)
    assert str(requests.render(bars._bars.tasks[0])) == "3 requests, 5.0 MiB received"
