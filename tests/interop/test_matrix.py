"""docs/interop.md says what is so: every reader, asked again for every writer's file, answers as it does there."""

import pytest
from judges import require
from matrix import PAGE, READERS, REASONS, WRITERS, ask, page, read_page, write_all

CELLS, VERSIONS = read_page(PAGE.read_text(encoding="utf-8"))


def test_the_page_is_what_its_script_makes():
    assert page(CELLS, VERSIONS) == PAGE.read_text(encoding="utf-8")
    assert set(CELLS) == {(reader.name, writer.name) for reader in READERS for writer in WRITERS}
    assert {cell.why for cell in CELLS.values() if cell.why} == {sentence for _, sentence in REASONS}


@pytest.mark.ci
@pytest.mark.parametrize("writer", WRITERS, ids=lambda writer: writer.name)
def test_every_writer_is_here(writer):
    require(writer)


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
