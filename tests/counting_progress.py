"""A progress that counts what it receives, for tests of operations and flows."""


class CountingProgress:
    """Progress that counts phases and bytes.

    Attributes
    ----------
    phases
        Description and total of each phase, in order.
    done
        The bytes of all phases.
    stopped
        Number of ended phases.
    """

    def __init__(self) -> None:
        self.phases: list[tuple[str, int | None]] = []
        self.done = self.stopped = 0

    def start(self, description: str, total: int | None) -> None:
        """Begin a phase."""
        self.phases.append((description, total))

    def advance(self, amount: int) -> None:
        """Count bytes."""
        self.done += amount

    def stop(self) -> None:
        """End the phase."""
        self.stopped += 1
