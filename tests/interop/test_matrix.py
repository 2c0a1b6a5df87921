"""docs/interop.md says what is so: every reader, asked again for every writer's file, answers as it does there."""

import warnings

import pytest
from judges import ArrayJudge, Judge, RefusalError, require
from matrix import PAGE, READERS, REASONS, WRITERS, ask, page, pinned_versions, read_page, versions, write_all

CELLS, VERSIONS = read_page(PAGE.read_text(encoding="utf-8"))


def test_the_page_is_what_its_script_makes():
    assert page(CELLS, VERSIONS) == PAGE.read_text(encoding="utf-8")
    assert set(CELLS) == {(reader.name, writer.name) for reader in READERS for writer in WRITERS}
    assert {cell.why for cell in CELLS.values() if cell.why} == {reason.sentence for reason in REASONS}
    assert pinned_versions().items() <= VERSIONS.items()


@pytest.mark.parametrize("writer", WRITERS, ids=lambda writer: writer.name)
def test_no_reason_explains_a_reader_that_is_broken(writer, tmp_path):
    """Nothing but its own words about the file explains why a reader fails."""
    archive = tmp_path / "a.ozx"
    archive.write_bytes(b"PK")

    def refuse(*_):
        raise RefusalError(f"reader: ModuleNotFoundError: No module named 'codecs', for {archive}")

    with pytest.raises(AssertionError, match=r"no reason .* what other says of the file by .* No module named"):
        ask(Judge("other", lambda: None, refuse), writer, tmp_path, archive)
    with pytest.raises(AssertionError, match=r"no reason .* opened, with other pixels"):
        ask(ArrayJudge("other", lambda: None, lambda *_: [0]), writer, tmp_path, archive)


@pytest.mark.ci
@pytest.mark.parametrize("writer", WRITERS, ids=lambda writer: writer.name)
def test_every_writer_is_here(writer):
    require(writer)


@pytest.mark.ci
@pytest.mark.filterwarnings("ignore", "default:docs/interop.md")
def test_every_program_asked_stands_on_the_page():
    """That the version is another is told, and no fault: CI takes the newest of most programs, and compares answers."""
    for asked in (*READERS, *WRITERS):
        require(asked)
    now = versions()
    assert now.keys() == VERSIONS.keys()
    if other := [f"{name} {now[name]}, not {was}" for name, was in VERSIONS.items() if now[name] != was]:
        warnings.warn(
            f"docs/interop.md was made with other versions than are asked here: {'; '.join(other)}", stacklevel=1
        )


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Return the image as a directory, and the files made of it."""
    return write_all(tmp_path_factory.mktemp("matrix"))


@pytest.mark.ci
@pytest.mark.filterwarnings("ignore")  # foreign programs and what they import are deprecated in places
@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_answers_are_those_on_the_page(reader, written):
    require(reader)
    source, archives = written
    changed = []
    for writer in WRITERS:
        if writer.name in archives:
            was, now = CELLS[reader.name, writer.name], ask(reader, writer, source, archives[writer.name])
            if was != now:
                changed.append(f"the file by {writer.name}: docs/interop.md says {was}, now it is {now}")
    assert not changed, f"{reader.name}, {'; '.join(changed)}. If that is right: python docs/make_interop.py"
