"""All rules by id, read from the TOML files in the same folder."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ozx.validation.report import Severity

# In the order of the documentation. `data` holds the rules of Zarr about stored values.
_FILES = ("zip", "rfc9", "zarr", "conventions", "ome", "data")


@dataclass(frozen=True, slots=True)
class Rule:
    """One validation rule: its id, severity and texts."""

    # The document and the demand in short, such as ``rfc9/stored``. It has no section number: such numbers change.
    id: str
    # Severity of the findings by RFC-9 R2, unless `clause` names cases with another severity.
    severity: Severity
    # What is wrong when the rule is broken, in a few words.
    title: str
    clause: str
    # The document that contains the clause, and its edition.
    document: str
    revision: str
    meaning: str
    # How to repair a file that breaks the rule.
    repair: str
    # Severity by the authors' revision of RFC-9, which is not merged; None if it is the same.
    draft_severity: Severity | None = None
    # Whether only that revision has the rule.
    is_draft_only: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as an object for ``rules`` in ``ozx rules --json``."""
        return asdict(self)


class _RuleTable(Mapping[str, Rule]):
    """A mapping of rules by id; each TOML file is read when one of its rules is first needed."""

    def __getitem__(self, identifier: str) -> Rule:
        document = identifier.partition("/")[0]
        for name in sorted(_FILES, key=lambda name: (name != document, name)):
            if identifier in (rules := _read(name)):
                return rules[identifier]
        raise KeyError(identifier)

    def __iter__(self) -> Iterator[str]:
        for name in _FILES:
            yield from _read(name)

    def __len__(self) -> int:
        return sum(len(_read(name)) for name in _FILES)


#: Every rule by its id, in the order of the documentation.
RULES: Mapping[str, Rule] = _RuleTable()


def near_matches(identifier: str) -> list[str]:
    """Return up to three rule ids that resemble `identifier`."""
    identifier = identifier.lower()
    found = [known for known in RULES if identifier in known.split("/")]
    found += difflib.get_close_matches(identifier, RULES, n=3, cutoff=0.6)
    by_name = {known.rpartition("/")[2]: known for known in RULES}
    found += [by_name[name] for name in difflib.get_close_matches(identifier.rpartition("/")[2], by_name, n=3)]
    return list(dict.fromkeys(found))[:3]


@cache
def _read(name: str) -> dict[str, Rule]:
    import tomllib  # noqa: PLC0415 (valid files need no rule)

    rows = tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text("utf-8"))
    documents, repairs = rows.pop("documents"), rows.pop("repairs", {})
    rules = {}
    for identifier, row in rows.items():
        document, revision = documents[row.pop("document", next(iter(documents)))]
        row["repair"] = repairs.get(row["repair"], row["repair"])
        rules[identifier] = Rule(id=identifier, document=document, revision=revision, **row)
    return rules
