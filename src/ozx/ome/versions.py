"""OME-Zarr versions: features of each version, and descriptions of drafts."""

from __future__ import annotations

import re

from ozx.zarr.json_reading import Document, as_object, as_text

# Before 0.6.dev4 the ends of a transformation were strings.
_EARLY = re.compile(r"0\.6\.?dev[123]")
_DRAFTS = {
    r"0\.6\.?dev\d+": "a draft of 0.6",
    r"0\.6\.?rc\d+": "a release candidate of 0.6",
    r"0\.9\.?dev[12]": "0.6 with free axes (RFC-3) and orientation (RFC-4), a draft",
    r"0\.9\.?dev\d+": "a draft with collections (RFC-8)",
}


def version_of(root: Document) -> str | None:
    """Return the OME-Zarr version in the ``zarr.json`` of a root; None if it names no version."""
    return as_text(as_object(as_object(root.get("attributes")).get("ome")).get("version"))


def has_systems(version: str | None) -> bool | None:
    """Return whether images of a version have coordinate systems instead of axes; None for an unknown version.

    Examples
    --------
    >>> [has_systems(version) for version in ("0.5", "0.6rc0", "0.9.dev1", "0.7", None)]
    [False, True, True, None, None]
    """
    if version is None:
        return None
    if version in ("0.4", "0.5"):
        return False
    return True if version == "0.6" or describe_draft(version) is not None else None


def is_before_objects(version: str) -> bool:
    """Return whether a version is an early draft of 0.6, in which transformations have another form."""
    return _EARLY.fullmatch(version) is not None


def describe_draft(version: str) -> str | None:
    """Return a description of a draft version, or None if the version is not a known draft.

    Examples
    --------
    >>> describe_draft("0.9.dev1")
    '0.6 with free axes (RFC-3) and orientation (RFC-4), a draft'
    """
    return next((text for pattern, text in _DRAFTS.items() if re.fullmatch(pattern, version)), None)


def is_understood(version: str | None, *, is_v3: bool) -> bool:
    """Return whether ozx supports a version: 0.4 in Zarr v2, 0.5, 0.6 and drafts of 0.6 in Zarr v3.

    Examples
    --------
    >>> [is_understood(version, is_v3=True) for version in ("0.5", "0.6.dev3", "0.6.1", "0.9.dev1")]
    [True, True, False, False]
    """
    if version is None:  # the rule `ome/version` reports it; readers go by the keys of the metadata
        return True
    if not is_v3:
        return version == "0.4"
    return version in ("0.5", "0.6") or (version.startswith("0.6") and describe_draft(version) is not None)


def is_known(version: str | None, *, is_v3: bool = True) -> bool:
    """Return whether ozx can check metadata of a version, at least as a draft."""
    return is_understood(version, is_v3=is_v3) or (is_v3 and describe_draft(version or "") is not None)
