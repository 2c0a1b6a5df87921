"""A server ends when nobody looks any more."""

import threading

from ozx.desktop.viewer.loopback import Request
from ozx.desktop.viewer.page_access import Presence


def test_a_page_came_and_went():
    presence = Presence()
    assert not presence.wait_until_gone(grace=0, patience=0)  # nobody came
    with presence.page(), presence.page():
        assert presence.count == 2
    assert presence.wait_until_gone(grace=0, patience=0)


def test_a_page_that_is_loaded_anew_comes_back_in_time():
    presence = Presence()
    gone = threading.Event()

    def wait():
        presence.wait_until_gone(grace=0.2, patience=20)
        gone.set()

    with presence.page():
        thread = threading.Thread(target=wait)
        thread.start()
    with presence.page():
        assert not gone.wait(0.4)
    thread.join(20)
    assert gone.is_set()


def test_the_answer_that_a_page_holds_ends_with_the_page():
    presence = Presence()
    left = [False, True]
    answer = presence.answer(Request("GET", "/", is_gone=lambda _: left.pop(0)))
    assert answer.length is None
    counts = [presence.count for _ in answer.body]
    assert counts == [1, 1]
    assert presence.count == 0
