"""A test case of a rule: a file or directory that breaks or obeys the rule, and the expected findings."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from ozx.validation.report import Level, Report, Severity
from ozx.validation.rules.table import RULES
from ozx.validation.validate import validate

from .archive_builder import ArchiveBuilder, write_tree


@dataclass(frozen=True, slots=True)
class Case:
    """A file or directory, and the findings that validation must report.

    If every file that breaks the rule also breaks another rule, `found` names both rules.

    Examples
    --------
    >>> case = Case("rfc9/stored", "all stored", ArchiveBuilder.valid, "rfc9/sharding=note")
    >>> case.breaks_its_rule, case.severities()
    (False, {'rfc9/sharding': 'note'})
    """

    # Id of the rule; the case breaks the rule if `found` contains this id.
    rule: str
    # Description in a few words, unique among the cases of the rule.
    name: str
    # Returns an archive, other bytes, or the files of a directory by key.
    make: Callable[[], ArchiveBuilder | bytes | dict[str, bytes]]
    # The ids of all findings, separated by spaces; ``rfc9/sharding=note`` if the severity is not the rule's own.
    found: str = ""
    profile: str = "rfc9"
    revision: str = "all"
    # The path of the file; some rules are about names.
    file: str = "cells.ozx"
    level: Level = "archive"
    # Other files that the case needs, by path.
    beside: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def breaks_its_rule(self) -> bool:
        """Whether the case breaks `rule`; otherwise it is a similar case that obeys the rule."""
        return self.rule in self.severities()

    def severities(self) -> dict[str, Severity]:
        items = [item.partition("=") for item in self.found.split()]
        return {rule: cast("Severity", severity) or RULES[rule].severity for rule, _, severity in items}

    def write(self, folder: str | os.PathLike[str]) -> Path:
        """Write the case into `folder`, and return the path of the file or directory."""
        write_tree(folder, self.beside)
        path = Path(folder, self.file)
        path.parent.mkdir(parents=True, exist_ok=True)
        made = self.make()
        if isinstance(made, dict):
            return write_tree(path, made)
        if isinstance(made, ArchiveBuilder):
            return made.write(path)
        path.write_bytes(made)
        return path

    def check(self, folder: str | os.PathLike[str]) -> Report:
        """Write the case into `folder`, validate it, and return the report."""
        return validate(self.write(folder), level=self.level, profile=self.profile, revision=self.revision)
