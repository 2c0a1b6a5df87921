"""The verdicts on all cases beside what zarr-python, tensorstore and ome-zarr-models make of them.

A reader is expected to refuse what has an error, and what a warning says that it refuses; to open everything else.
Every difference has a reason: docs/clauses/differences.toml.
"""

from __future__ import annotations

import importlib.metadata
import json
import tempfile
import warnings
from pathlib import Path

import pytest
import tensorstore
import zarr
from cases.documents import FILES, documents_of
from cases.table import CASES
from ome_zarr_models import open_ome_zarr
from packaging.version import Version
from zarr.core.buffer import default_buffer_prototype
from zarr.storage import MemoryStore, ZipStore

from docs.make_conformance import read_differences
from ozx.validation.hierarchy import Options, check_documents
from ozx.validation.wording import TENSORSTORE, ZARR_PYTHON
from ozx.zarr.keys import node_of

_PACKAGES = {"zarr-python": "zarr"}


def is_of_this_version(known):
    """Tell whether a difference is one of the version that is installed."""
    version = Version(importlib.metadata.version(_PACKAGES.get(known["reader"], known["reader"])))
    return version <= Version(known.get("until", "9999")) and version >= Version(known.get("since", "0"))


EXPECTED = {
    (known["reader"], known["rule"], name, known["refuses"])
    for known in read_differences()
    if is_of_this_version(known)
    for name in known["cases"]
}
ARCHIVE_RULES = list(dict.fromkeys(case.rule for case in CASES))


def memory(documents):
    buffer = default_buffer_prototype().buffer
    return MemoryStore({key: buffer.from_bytes(value) for key, value in documents.items()})


def opens_in_zarr(documents):
    store = memory(documents)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for key in documents:
                zarr.open(store, path=node_of(key), mode="r", zarr_format=3)
    except Exception:  # noqa: BLE001 (it refuses by TypeError, KeyError, ValueError and others)
        return False
    return True


def opens_in_tensorstore(documents):
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "zarr.json").write_bytes(documents["zarr.json"])
        try:
            tensorstore.open({"driver": "zarr3", "kvstore": {"driver": "file", "path": folder + "/"}}).result()
        except ValueError:
            return False
    return True


READERS = {"zarr-python": (opens_in_zarr, ZARR_PYTHON), "tensorstore": (opens_in_tensorstore, TENSORSTORE)}


def concerns(reader, documents):
    if reader == "zarr-python":
        return "zarr.json" in documents
    try:
        return json.loads(documents.get("zarr.json", b"{}")).get("node_type") == "array"
    except (ValueError, AttributeError):  # no JSON, no object
        return False


def refused_by_ozx(findings, called, documents=("zarr/", "rfc9/", "zip/")):
    return any(
        (finding.severity == "error" and finding.id.startswith(documents)) or called in finding.message
        for finding in findings
    )


def difference(reader, rule, name, *, opens, refused):
    return {(reader, rule, name, "ozx" if refused else "the program")} if opens == refused else set()


@pytest.mark.parametrize("rule", FILES)
@pytest.mark.parametrize("reader", READERS)
def test_readers_agree_about_documents_or_it_is_known_why(reader, rule):
    opens, called = READERS[reader]
    found = set()
    for case in FILES[rule]["fails"] + FILES[rule]["passes"]:
        documents = documents_of(case)
        if concerns(reader, documents):
            findings = list(check_documents(documents, Options(second_opinion=False)))
            refused = refused_by_ozx(findings, called)
            found |= difference(reader, rule, case["name"], opens=opens(documents), refused=refused)
    if rule not in ARCHIVE_RULES:
        assert found == {known for known in EXPECTED if known[:2] == (reader, rule)}


def opens_every_array(path):
    try:
        with warnings.catch_warnings(), ZipStore(path, mode="r") as store:
            warnings.simplefilter("ignore")
            root = zarr.open(store, mode="r", zarr_format=3)
            for node in [root] if isinstance(root, zarr.Array) else [node for _, node in root.members(max_depth=None)]:
                if isinstance(node, zarr.Array):
                    node[...]
    except Exception:  # noqa: BLE001 (of zipfile, zarr, numpy and numcodecs)
        return False
    return True


# More than is read here, or rules of a profile that no reader knows.
def is_read_by_zarr(case):
    too_large = ("zip/large-entry", "zip/many-entries")
    return (
        case.rule not in too_large
        and case.name != "chunks of 3 GiB"
        and (case.profile, case.revision) == ("rfc9", "all")
    )


@pytest.mark.parametrize("rule", ARCHIVE_RULES)
def test_zarr_agrees_about_archives_or_it_is_known_why(rule, tmp_path):
    found = set()
    for number, case in enumerate(case for case in CASES if case.rule == rule and is_read_by_zarr(case)):
        path = case.write(tmp_path / str(number))
        if path.is_file():
            refused = refused_by_ozx(case.check(tmp_path / str(number)).findings, ZARR_PYTHON)
            found |= difference("zarr-python", rule, case.name, opens=opens_every_array(path), refused=refused)
    assert found == {known for known in EXPECTED if known[:2] == ("zarr-python", rule)}


@pytest.mark.parametrize("rule", [rule for rule in FILES if rule.startswith("ome/")])
def test_ome_zarr_models_agrees_or_it_is_known_why(rule):
    found = set()
    for case in FILES[rule]["fails"] + FILES[rule]["passes"]:
        documents = documents_of(case)
        if not is_known_to_models(documents):
            continue
        findings = list(check_documents(documents, Options(second_opinion=False)))
        refused = refused_by_ozx(findings, "ome-zarr-models", ("ome/", "zarr/"))
        found |= difference("ome-zarr-models", rule, case["name"], opens=is_a_model(documents), refused=refused)
    assert found == {known for known in EXPECTED if known[:2] == ("ome-zarr-models", rule)}


def is_known_to_models(documents):
    """Tell whether ome-zarr-models has models for the version: those of 0.6 came with 1.8."""
    has_models = Version(importlib.metadata.version("ome-zarr-models")) >= Version("1.8")
    return has_models or b'"version": "0.6' not in documents.get("zarr.json", b"")


def is_a_model(documents):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            open_ome_zarr(zarr.open_group(memory(documents), mode="r"))
    except Exception:  # noqa: BLE001 (it refuses by RuntimeError, and stumbles over what it does not expect)
        return False
    return True


def test_every_known_difference_is_one_of_a_case():
    names = {(rule, case["name"]) for rule, file in FILES.items() for case in file["fails"] + file["passes"]}
    names |= {(case.rule, case.name) for case in CASES}
    assert {known[1:3] for known in EXPECTED} <= names
