"""What is never written: a hierarchy whose metadata break a rule. Who makes an archive asks here first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ozx.errors import FormatError
from ozx.validation.rfc9_rules import check_metadata

__all__ = ["refuse_errors"]


def refuse_errors(metadata: Mapping[str, bytes], legacy_keys: Iterable[str] = (), *, path: str) -> None:
    """Raise the first error that the rules find in the metadata of what is to be written.

    Parameters
    ----------
    metadata
        The ``zarr.json`` by key.
    legacy_keys
        Keys that are metadata of Zarr v2.
    path
        What the error names.

    Raises
    ------
    FormatError
        It is no OME-Zarr hierarchy; `rule` says what it lacks.

    Examples
    --------
    >>> refuse_errors({}, path="cells.ome.zarr")
    Traceback (most recent call last):
    ozx.errors.FormatError: cells.ome.zarr: expected a zarr.json at the root; found no metadata of Zarr at all
    """
    for finding in check_metadata(metadata, legacy_keys):
        if finding.severity == "error":
            raise FormatError(finding.message, path=path, rule=finding.id, hint=finding.hint)
