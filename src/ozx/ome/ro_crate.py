"""RO-Crate 1.1: the file by which archives of data learn a hierarchy's name, authors and license.

The file says nothing that a later edit of pixels, a crop or another layout makes false.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ozx.errors import UsageError
from ozx.zarr.keys import ROOT_METADATA

#: RO-Crate 1.1, "RO-Crate Metadata File": the key at the root of the hierarchy.
CRATE = "ro-crate-metadata.json"

_PROFILE = "https://w3id.org/ro/crate/1.1"


@dataclass(frozen=True, slots=True)
class Credits:
    """Who made an image, and on what terms others use it."""

    authors: Sequence[str]  # names
    license: str | None  # a URL, or an SPDX identifier; without one, there is no crate

    def __post_init__(self) -> None:
        if self.authors and self.license is None:
            raise UsageError(
                "expected a license for the image of the authors; got none",
                hint="RO-Crate requires one: give license='CC-BY-4.0', for example.",
            )
        texts = [*self.authors, *([] if self.license is None else [self.license])]
        if not all(isinstance(text, str) and text.strip() for text in texts) or " " in (self.license or ""):
            raise UsageError(
                "expected names of authors, and a license without spaces: a URL or an SPDX identifier",
                hint="Give author=['Ada Byron'] and license='CC-BY-4.0', for example.",
            )

    def crate(self, name: str) -> bytes:
        """Return the metadata file of a file called `name`; `ozx edit` may change the name of its image."""
        terms = self.license or ""
        url = terms if "://" in terms else f"https://spdx.org/licenses/{terms}"
        people = [{"@id": f"#author-{n}", "@type": "Person", "name": each} for n, each in enumerate(self.authors, 1)]
        dataset: dict[str, Any] = {
            "@id": "./",
            "@type": "Dataset",
            "name": name,
            "description": "Images with their metadata as an OME-Zarr hierarchy.",
            "datePublished": _today(),
            "license": {"@id": url},
            "hasPart": {"@id": ROOT_METADATA},
        }
        if people:
            authors = [{"@id": person["@id"]} for person in people]
            dataset["author"] = authors if len(authors) > 1 else authors[0]  # RO-Crate's advice
        about = {"@id": CRATE, "@type": "CreativeWork", "conformsTo": {"@id": _PROFILE}, "about": {"@id": "./"}}
        part = {"@id": ROOT_METADATA, "@type": "File", "name": "Zarr metadata", "encodingFormat": "application/json"}
        rights = {"@id": url, "@type": "CreativeWork", "name": terms, "description": f"The license {terms}."}
        graph = [about, dataset, part, rights, *people]
        return json.dumps({"@context": f"{_PROFILE}/context", "@graph": graph}, indent=2).encode("ascii")


def _today() -> str:
    """Return the date of packing; SOURCE_DATE_EPOCH sets it for builds that are to be repeated."""
    seconds = os.environ.get("SOURCE_DATE_EPOCH", "")
    now = datetime.fromtimestamp(int(seconds), UTC) if seconds.isdecimal() else datetime.now(UTC)
    return now.date().isoformat()
