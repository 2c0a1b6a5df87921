"""Pauses between the work on earlier and later frames."""

import threading

from ozx.images.streaming.turns import Turns


def test_a_pause_waits_for_earlier_work_and_holds_back_later_work():
    turns, events = Turns(), []
    first = turns.begin()
    timer = threading.Timer(0.03, lambda: (events.append("first"), turns.end(first)))
    timer.start()

    def later():
        turns.wait_for(second)
        events.append("second")
        turns.end(second)

    turns.hold()
    turns.wait_until_done()
    events.append("pause")
    second = turns.begin()
    thread = threading.Thread(target=later)
    thread.start()
    thread.join(0.05)
    events.append("end")
    turns.go_on()
    thread.join()
    timer.join()
    assert events == ["first", "pause", "end", "second"]


def test_work_that_is_never_done():
    turns = Turns()
    turns.begin()
    threading.Timer(0.02, turns.stop).start()
    turns.hold()
    turns.wait_until_done()
    turns.go_on()
