"""A server ends when nobody looks any more."""

import threading

from ozx.desktop.viewer.loopback import Request
from ozx.desktop.viewer.page_access import PageAccess


def test_a_page_came_and_went():
    access = PageAccess()
    assert not access.wait_until_gone(grace=0, patience=0)  # nobody came
    with access.window(), access.window():
        assert access.count == 2
    assert access.wait_until_gone(grace=0, patience=0)


def test_a_page_that_is_loaded_anew_comes_back_in_time():
    access = PageAccess()
    gone = threading.Event()

    def wait():
        access.wait_until_gone(grace=0.2, patience=20)
        gone.set()

    with access.window():
        thread = threading.Thread(target=wait)
        thread.start()
    with access.window():
        assert not gone.wait(0.4)
    thread.join(20)
    assert gone.is_set()


def test_the_answer_that_a_page_holds_ends_with_the_page():
    access = PageAccess()
    left = [False, True]
    answer = access.answer_alive(Request("GET", "/", is_gone=lambda _: left.pop(0)))
    assert answer.length is None
    counts = [access.count for _ in answer.body]
    assert counts == [1, 1]
    assert access.count == 0
