"""Pauses between the work on earlier and later frames; frames that were never added."""

import threading

from ozx.images.streaming.frame_queue import FrameQueue, ReceivedFrame


def received(image="image"):
    return ReceivedFrame(image)


def test_a_pause_waits_for_earlier_work_and_holds_back_later_work():
    queue, events = FrameQueue(), []
    queue.put(received())
    first, _ = queue.take()
    timer = threading.Timer(0.03, lambda: (events.append("first"), queue.end(first)))
    timer.start()

    def later():
        turn, _ = queue.take()
        queue.wait_for(turn)
        events.append("second")
        queue.end(turn)

    queue.hold()
    queue.wait_until_done()
    events.append("pause")
    queue.put(received())
    thread = threading.Thread(target=later)
    thread.start()
    thread.join(0.05)
    events.append("end")
    queue.go_on()
    thread.join()
    timer.join()
    assert events == ["first", "pause", "end", "second"]


def test_a_pause_waits_for_frames_that_no_thread_has_taken():
    queue, events = FrameQueue(), []
    queue.put(received())

    def work():
        events.append("work")
        queue.end(queue.take()[0])

    queue.hold()
    timer = threading.Timer(0.03, work)
    timer.start()
    queue.wait_until_done()
    assert events == ["work"]
    timer.join()


def test_dropped_frames_end_a_pause():
    queue = FrameQueue()
    queue.put(received())
    threading.Timer(0.02, queue.clear).start()
    queue.hold()
    queue.wait_until_done()
    queue.go_on()
    queue.wait_until_empty()
    assert queue.take() is None


def test_frames_are_taken_in_their_order_and_known_from_then_on():
    queue, frames = FrameQueue(), [received(name) for name in "abc"]
    for frame in frames[:2]:
        queue.put(frame)
    assert queue.take() == (0, frames[0])
    assert [queue.has(frame) for frame in frames] == [True, True, False]
    assert queue.take() == (1, frames[1])
