"""All cases of the rules about archives and values, by rule."""

from __future__ import annotations

from ozx.validation.cases.ambiguity_cases import AMBIGUITY_CASES
from ozx.validation.cases.case import Case
from ozx.validation.cases.data_cases import DATA_CASES
from ozx.validation.cases.other_cases import OTHER_CASES
from ozx.validation.cases.rfc9_cases import RFC9_CASES
from ozx.validation.cases.zip_cases import ZIP_CASES

__all__ = ["CASES", "WITHOUT_CASES"]

#: The cases, in the order of the rules.
CASES: tuple[Case, ...] = (*ZIP_CASES, *AMBIGUITY_CASES, *RFC9_CASES, *OTHER_CASES, *DATA_CASES)

#: Rules that no file shows, and why.
WITHOUT_CASES = {"zip/changed": "A file that changes while it is read; no file does so by itself."}
