"""Tasks that only the benchmarks of scaling use."""

from __future__ import annotations

from typing import Any

from worker import Repeated


def validate_archive(path: str) -> Repeated:
    """Return the task of validating only the container."""
    from ozx.validation.validate import validate

    def verify(report: Any) -> None:
        assert report.valid, report.findings

    return Repeated(lambda: validate(path, level="archive"), verify)
