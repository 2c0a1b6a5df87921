"""Many sources: which of them would become the same file."""

import os

import pytest
from links import make_link

from ozx.errors import UsageError
from ozx.flow.batch_checks import check_distinct


@pytest.mark.parametrize(
    ("sources", "targets", "message"),
    [
        (["a", "b", "a"], ["a.ozx", "b.ozx", "a.ozx"], "^a is given twice$"),
        (["x/a", "y/a"], ["d/a.ozx", "d/a.ozx"], "^x/a and y/a would both become d/a.ozx$"),
        (["x/a", "y/a"], ["d/a.ozx", "d/../d/a.ozx"], "would both become"),
    ],
)
def test_two_sources_for_one_file(sources, targets, message):
    with pytest.raises(UsageError, match=message) as caught:
        check_distinct(sources, targets, verb="Pack")
    assert caught.value.hint in ("Name each source once.", "Pack them into different folders.")


@pytest.mark.parametrize(
    ("first", "second"), [("Cells.ozx", "cells.ozx"), ("caf\u00e9.ozx", "cafe\u0301.ozx"), ("D/a.ozx", "d/A.ozx")]
)
def test_names_that_some_systems_treat_as_one(first, second):
    targets = [f"out/{first}", f"out/{second}"]
    check_distinct(["x", "y"], targets, verb="Pack", folds_names=False)
    message = f"^x and y would become {targets[0]} and {targets[1]}, which this system may treat as one file$"
    with pytest.raises(UsageError, match=message) as caught:
        check_distinct(["x", "y"], targets, verb="Pack", folds_names=True)
    assert caught.value.hint == "Pack them into different folders."


@pytest.mark.parametrize("present", [["A"], ["A", "a"]])
def test_existing_files_show_whether_names_differ_by_case(tmp_path, present):
    for name in present:
        (tmp_path / name).write_bytes(b"")
    targets = [str(tmp_path / name) for name in "Aa"]
    if (tmp_path / "a").exists() and len(list(tmp_path.iterdir())) == 1:  # as usual on Windows and macOS
        with pytest.raises(UsageError, match="one file"):
            check_distinct(["x", "y"], targets, verb="Pack", folds_names=False)
    else:
        check_distinct(["x", "y"], targets, verb="Pack", folds_names=True)


def test_existing_files_that_are_one_are_refused_on_every_system(tmp_path):
    (tmp_path / "A").write_bytes(b"")
    if not (tmp_path / "a").exists():
        os.link(tmp_path / "A", tmp_path / "a")
    with pytest.raises(UsageError, match="one file"):
        check_distinct(["x", "y"], [str(tmp_path / "A"), str(tmp_path / "a")], verb="Pack", folds_names=False)


def test_a_link_leads_to_the_folder_of_another_output(tmp_path):
    (tmp_path / "d").mkdir()
    make_link(tmp_path / "link", "d")
    with pytest.raises(UsageError, match="would both become"):
        check_distinct(["x", "y"], [str(tmp_path / name / "a.ozx") for name in ("d", "link")], verb="Pack")
