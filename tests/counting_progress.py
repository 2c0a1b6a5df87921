"""A progress that counts what it receives and one that acts, for tests of operations and flows."""

from collections.abc import Callable


class CountingProgress:
    def __init__(self) -> None:
        self.phases: list[tuple[str, int | None]] = []  # description and total of each phase, in order
        self.done = self.stopped = 0  # bytes of all phases, and number of ended phases

    def start(self, description: str, total: int | None) -> None:
        self.phases.append((description, total))

    def advance(self, amount: int) -> None:
        self.done += amount

    def stop(self) -> None:
        self.stopped += 1


class ActingProgress(CountingProgress):
    """Progress that calls a function at each report of bytes."""

    def __init__(self, act: Callable[[], object]) -> None:
        super().__init__()
        self.act = act

    def advance(self, amount: int) -> None:
        super().advance(amount)
        self.act()
