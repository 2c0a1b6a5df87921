"""Store, unpack, cat, recover and validate agree about every archive; so do other readers where it has no errors."""

import os
import random
import zipfile
from pathlib import Path

import pytest
from agreement import check_agreement, check_foreign, errors_of, missing_programs, values_of_cat, values_of_store
from ambiguity_matrix import VALUES, Change, build, forms, mutants
from cases.archive_builder import ArchiveBuilder
from cases.table import CASES
from recipes import RECIPES

#: No file system has such names, or bsdtar and unzip change them: `docs/explanation/ambiguities.md`.
NAMES_OF_NO_FILES = {
    "name: 65,535 bytes",
    "name: a thousand folders",
    "key: control characters",
    "name: twice but for composition",
}
LARGEST = 4 << 20
SAMPLES = Path(os.environ.get("OZX_SAMPLES", "/nonexistent")) / "zip"
FORMS = [form.name for form in forms()]

needs_programs = pytest.mark.skipif(missing_programs() != [], reason=f"not installed: {missing_programs()}")


def archives_of_cases():
    for case in CASES:
        if case.rule in ("zip/large-entry", "zip/many-entries", "zip/overflow"):
            continue
        made = case.make()
        if isinstance(made, ArchiveBuilder):
            if sum(len(entry.data) + entry.hole for entry in made.entries) > LARGEST:
                continue
            made = made.build()
        if isinstance(made, bytes):
            yield f"{case.rule}: {case.name}", made


def archives_of_recipes():
    for recipe in RECIPES:
        if recipe.name not in NAMES_OF_NO_FILES and len(recipe.archive) <= LARGEST:
            yield recipe.name, recipe.archive


def disagreements(archives, truth=None, *, foreign=False):
    distinct = {data: name for name, data in archives}  # a quarter of the pairs of changes make the same archive
    found = {name: check_foreign(data) if foreign else check_agreement(data, truth) for data, name in distinct.items()}
    return {name: wrong for name, wrong in found.items() if wrong}


def of_form(archives, name):
    return ((text, data) for text, data in archives if text.startswith(f"{name}:"))


@pytest.mark.parametrize("form", forms(), ids=lambda form: form.name)
def test_a_form_without_changes_is_read_by_all(form, tmp_path):
    path = tmp_path / "cells.ozx"
    path.write_bytes(build(form))
    assert values_of_store(path) == (VALUES, set())
    assert values_of_cat(path) == VALUES
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None


def test_doors_agree_about_a_few_changes():
    assert disagreements(random.Random(1).sample(list(mutants(1)), 8), VALUES) == {}


def test_a_directory_of_zeros_is_an_error_everywhere(tmp_path):
    """The CRC-32 of no bytes is 0: only the data descriptor tells that there is a value."""
    path = tmp_path / "cells.ozx"
    for form in forms():
        if form.streamed:
            zeros = [Change("directory", field, "zero") for field in ("uncompressed", "compressed", "crc32")]
            path.write_bytes(build(form, *zeros))
            assert "zip/local-header" in errors_of(path)
            assert "0/c/1" not in values_of_cat(path)
            assert "0/c/1" not in (values_of_store(path)[0] or {})
            assert check_agreement(path.read_bytes(), VALUES) == []


def test_a_missing_agreement_is_noticed(monkeypatch):
    monkeypatch.setattr("agreement.values_of_cat", lambda path: {"0/c/0": b"other"})
    monkeypatch.setattr("agreement.values_of_zipfile", lambda data: None)
    wrong = "\n".join(check_agreement(build(forms()[0]), VALUES))
    assert "cat b'other'" in wrong
    assert "cat refuses it" in wrong
    assert "zipfile refuses the archive" in wrong


@pytest.mark.ci
@pytest.mark.parametrize("name", FORMS)
def test_doors_agree_about_every_change_and_every_pair_of_changes(name):
    assert disagreements(of_form(mutants(2), name), VALUES) == {}


@pytest.mark.ci
def test_doors_agree_about_the_cases_and_recipes():
    assert disagreements(archives_of_cases()) == {}
    assert disagreements(archives_of_recipes()) == {}


@pytest.mark.ci
@pytest.mark.skipif(not SAMPLES.is_dir(), reason="OZX_SAMPLES is not set")
def test_doors_agree_about_the_samples():
    samples = sorted(SAMPLES.glob("*.ozx"))
    assert disagreements((path.name, path.read_bytes()) for path in samples) == {}
    two_answers = ("smuggle", "c2_long", "c5_12", "appended", "z64size", "gap_cd", "trail_deflate", "overrun", "dosdir")
    for path in samples:
        if path.stem in two_answers:
            assert errors_of(path), path


@pytest.mark.ci
@needs_programs
@pytest.mark.parametrize("name", FORMS)
def test_other_programs_read_alike_what_has_no_errors(name):
    assert disagreements(of_form(mutants(2), name), foreign=True) == {}


@pytest.mark.ci
@needs_programs
def test_other_programs_read_alike_the_cases_and_recipes_without_errors():
    assert disagreements(archives_of_cases(), foreign=True) == {}
    assert disagreements(archives_of_recipes(), foreign=True) == {}
