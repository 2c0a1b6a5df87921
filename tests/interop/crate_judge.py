"""Judge RO-Crates by roc-validator, without a network, for ``test_ro_crate.py``.

The arguments are folders. The answer is JSON: for each, the issues about what RO-Crate 1.1 requires, and the number of
checks; and the addresses that the validator asked for.
"""

import json
import sys
from types import SimpleNamespace

import rdflib.plugins.shared.jsonld.context as jsonld
from rocrate_validator.models import Severity, ValidationSettings
from rocrate_validator.services import validate
from rocrate_validator.utils.http import HttpRequester

ADDRESS = "https://w3id.org/ro/crate/1.1/context"
TYPES = ["CreativeWork", "Dataset", "Person"]
PROPERTIES = ["about", "author", "datePublished", "description", "encodingFormat", "hasPart", "license", "name"]
#: The terms that crates of ozx use, as the context of RO-Crate 1.1 defines them.
CONTEXT = {
    **{term: f"http://schema.org/{term}" for term in TYPES + PROPERTIES},
    "File": "http://schema.org/MediaObject",
    "conformsTo": "http://purl.org/dc/terms/conformsTo",
}
asked = set()


def answer(address, *_, **__):
    asked.add(str(address))
    status = 200 if address == ADDRESS else 404
    document = {"@context": CONTEXT}
    return SimpleNamespace(status_code=status, headers={"Content-Type": "application/ld+json"}, json=lambda: document)


HttpRequester.get = HttpRequester.head = lambda _, address, **__: answer(address)
jsonld.source_to_json = lambda address, *_, **__: (answer(address).json(), None)

found = []
for folder in sys.argv[1:]:
    settings = ValidationSettings(
        rocrate_uri=folder, profile_identifier="ro-crate-1.1", requirement_severity=Severity.REQUIRED, no_cache=True
    )
    result = validate(settings)
    issues = [f"{issue.check.identifier}: {issue.message}" for issue in result.get_issues()]
    found.append([issues, len(result.executed_checks)])
print(json.dumps({"found": found, "asked": sorted(asked)}))
