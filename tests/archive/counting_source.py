"""A source of bytes that counts its reads."""


class CountingSource:
    """A source of bytes in memory that counts reads, and fails at the read number `fail_at` (from 0)."""

    def __init__(self, data: bytes, fail_at: int | None = None) -> None:
        self.data = data
        self.name = "<counted>"
        self.reads: list[tuple[int, int]] = []
        self.fail_at = fail_at

    def size(self) -> int:
        return len(self.data)

    def read_at(self, offset: int, length: int) -> bytes:
        assert offset >= 0
        assert length >= 0
        self.reads.append((offset, length))
        if len(self.reads) - 1 == self.fail_at:
            raise OSError(5, "Input/output error")
        return self.data[offset : offset + length]

    def check_unchanged(self) -> None:
        pass
