"""JSON schemas of Zarr conventions, read from local files; URLs are not downloaded."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any
from urllib.parse import urldefrag, urljoin

from ozx.errors import UsageError
from ozx.extras import needed
from ozx.places.place import StrPath, given_path

if TYPE_CHECKING:
    from jsonschema.protocols import Validator
    from referencing import Registry

# Only this many errors are reported, because a large document may have thousands.
_MOST = 20
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")


class Schemas:
    """The given JSON schemas, by the URL that documents use for them."""

    def __init__(self, documents: Mapping[str, Any] | None = None) -> None:
        # References in a schema without `$id` are relative to its URL.
        self._documents = {
            url: {"$id": url, **schema} if isinstance(schema, dict) else schema
            for url, schema in (documents or {}).items()
        }
        self._validators: dict[str, Validator] = {}
        if self._documents:
            with needed("validate", "checking documents by JSON schemas"):
                import jsonschema  # noqa: F401, PLC0415 (an extra)
            registry = _registry_of(self._documents)
            self._validators = {url: _validator(url, schema, registry) for url, schema in self._documents.items()}

    def __bool__(self) -> bool:
        return bool(self._documents)

    @classmethod
    def read(cls, files: Mapping[str, StrPath]) -> Schemas:
        """Read the schemas in `files`, a mapping of URLs to paths."""
        documents = {}
        for url, path in files.items():
            with open(given_path(path), "rb") as file:
                data = file.read()
            try:
                documents[url] = json.loads(data)
            except (ValueError, RecursionError) as error:
                raise UsageError(f"{path}: expected a JSON schema; {error}") from None
        return cls(documents)

    def faults(
        self, url: Any, value: dict[str, Any], document: dict[str, Any] | None = None
    ) -> list[tuple[tuple[str | int, ...], str]]:
        """Return path and message of each error of `document` against the schema at `url`.

        If this schema is not given, there are no errors. `value` has the properties of the convention; a schema with
        a property ``attributes`` describes the whole `document`.
        """
        validator = self._validators.get(url) if isinstance(url, str) else None
        if validator is None:
            return []
        from referencing.exceptions import Unresolvable  # noqa: PLC0415 (loaded when schemas are given)

        prefix = 0
        if document is not None and _describes_documents(self._documents[url]):
            value, prefix = document, 1
        found = []
        try:
            for error in islice(validator.iter_errors(value), _MOST):
                path = tuple(error.absolute_path)
                found.append(
                    (path[prefix:] if path[:prefix] == ("attributes",)[:prefix] else (), _sentence(error.message))
                )
        except Unresolvable as error:
            raise UsageError(f"the schema of {url} refers to {error.ref}, where there is nothing") from None
        except RecursionError:
            found.append(((), "the value is nested too deep for the schema"))
        return found


def _registry_of(documents: Mapping[str, Any]) -> Registry[Any]:
    """Return a registry that contains only the given schemas, by URL and by ``$id``."""
    from referencing import Registry, Resource  # noqa: PLC0415 (loaded when schemas are given)
    from referencing.exceptions import CannotDetermineSpecification  # noqa: PLC0415
    from referencing.jsonschema import DRAFT202012  # noqa: PLC0415

    known = dict(documents)
    references: list[tuple[str, str]] = []
    for url, schema in documents.items():
        for base, value in _iter_objects(schema, url):
            if "$id" in value:
                known.setdefault(urldefrag(base).url, value)
            references += [(url, urljoin(base, item)) for key in _REFERENCES if isinstance(item := value.get(key), str)]
    for url, reference in references:
        target = urldefrag(reference).url
        if target not in known and not _is_metaschema(target):
            raise UsageError(
                f"the schema of {url} refers to {target}, which is not given; ozx does not download schemas",
                hint=f"Give a file with the schema {target} as well.",
            )
    registry: Registry[Any] = Registry()
    for url, schema in known.items():
        try:
            resource = Resource.from_contents(schema, DRAFT202012)
        except CannotDetermineSpecification:
            resource = DRAFT202012.create_resource(schema)
        registry = registry.with_resource(url, resource)
    return registry


def _validator(url: str, schema: Any, registry: Registry[Any]) -> Validator:
    from jsonschema import Draft202012Validator, SchemaError  # noqa: PLC0415
    from jsonschema.validators import validator_for  # noqa: PLC0415

    if not isinstance(schema, dict | bool):
        raise UsageError(f"the schema of {url}: expected a JSON schema, an object; found {type(schema).__name__}")
    kind = validator_for(schema, default=Draft202012Validator)
    try:
        kind.check_schema(schema)
    except SchemaError as error:
        raise UsageError(f"the schema of {url}: expected a JSON schema; {_sentence(error.message)}") from None
    return kind(schema, registry=registry)


def _iter_objects(schema: Any, base: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every JSON object in a schema, with its base URL."""
    pending = [(schema, base)]
    while pending:
        value, base = pending.pop()
        if isinstance(value, dict):
            base = urljoin(base, value["$id"]) if isinstance(value.get("$id"), str) else base
            yield base, value
            pending += [(item, base) for item in value.values()]
        elif isinstance(value, list):
            pending += [(item, base) for item in value]


def _is_metaschema(url: str) -> bool:
    from jsonschema_specifications import REGISTRY  # noqa: PLC0415 (ships with jsonschema)

    return url in REGISTRY or f"{url}#" in REGISTRY


def _describes_documents(schema: Any) -> bool:
    return isinstance(schema, dict) and (
        "attributes" in (schema.get("properties") or {}) or "attributes" in (schema.get("required") or [])
    )


def _sentence(message: str) -> str:
    return message if len(message) <= 200 else f"{message[:200]}…"
