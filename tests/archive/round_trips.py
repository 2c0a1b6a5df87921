"""Counting of round trips: a server answers no request before all requests of the same round trip have arrived."""

import threading


class RoundTrips:
    """The numbers of requests in each round trip that a client is expected to make; the hook `before` of a server.

    A client that makes one of these requests only after an answer waits in vain, and fails; no other clock is involved.
    Requests beyond the expected ones are answered at once, and counted.
    """

    def __init__(self, *numbers: int) -> None:
        barriers = [threading.Barrier(number) for number in numbers]
        self._barriers = [barrier for barrier in barriers for _ in range(barrier.parties)]
        self._lock = threading.Lock()
        self.requests = 0

    def __call__(self, call: str) -> None:
        """Wait for the other requests of the round trip to which this request belongs."""
        del call
        with self._lock:
            self.requests += 1
            barrier = self._barriers[self.requests - 1] if self.requests <= len(self._barriers) else None
        if barrier is not None:
            barrier.wait(20)

    def check(self) -> None:
        assert self.requests == len(self._barriers)
