"""zarr's own test-suite for stores, on `OzxStore` in every mode it applies to."""

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test
from uris import ozx_uri
from zarr.core.buffer import cpu
from zarr.testing.stateful import ZarrHierarchyStateMachine, ZarrStoreStateMachine
from zarr.testing.store import StoreTests

from ozx import OzxStore, UsageError
from ozx.places.byte_source import FileSource
from ozx.store.reading import ArchiveSession
from ozx.store.writing import WriteSession


@pytest.fixture(autouse=True)
def _leave_no_writer(monkeypatch):
    """The suite does not close what it opens, which our stores complain of."""
    sessions = []
    made = WriteSession.__init__

    def make(session, *arguments, **options):
        made(session, *arguments, **options)
        sessions.append(session)

    monkeypatch.setattr(WriteSession, "__init__", make)
    yield
    for session in sessions:
        session.abort()


class _WritingTests(StoreTests[OzxStore, cpu.Buffer]):
    store_cls = OzxStore
    buffer_cls = cpu.Buffer
    mode = ""

    @pytest.fixture
    def store_kwargs(self, tmp_path):
        return {"path": str(tmp_path / "a.ozx"), "mode": self.mode, "sync": False}

    async def get(self, store, key):
        return self.buffer_cls.from_bytes(store._write.read(key))

    async def set(self, store, key, value):
        store._write.set(key, memoryview(value.to_bytes()))

    def test_store_repr(self, store):
        assert repr(store) == f"OzxStore({store.path!r}, mode={self.mode!r})"
        assert str(store) == f"{ozx_uri(store.path)}"

    def test_store_supports_writes(self, store):
        assert store.supports_writes
        assert store.supports_deletes

    def test_store_supports_listing(self, store):
        assert store.supports_listing


class TestWriting(_WritingTests):
    mode = "w"


class TestWritingNew(_WritingTests):
    mode = "x"


class TestAddingToNothing(_WritingTests):
    mode = "a"


class TestAdding(_WritingTests):
    """Beside what is there already: an archive without entries, as the suite expects an empty store."""

    mode = "a"

    @pytest.fixture
    def store_kwargs(self, tmp_path):
        path = tmp_path / "a.ozx"
        path.write_bytes(b"PK\5\6" + bytes(18))
        return {"path": path, "mode": "a", "sync": False}


class TestReading(_WritingTests):
    """What the suite asks of reading; each value it sets makes the archive anew."""

    mode = "r"

    async def set(self, store, key, value):
        with pytest.warns(match="not OME-Zarr"), OzxStore(store.path, mode="a", sync=False) as writer:
            writer.set_sync(key, value)
        store._read = ArchiveSession(FileSource(store.path))

    async def get(self, store, key):
        return self.buffer_cls.from_bytes(store._read.read(key))

    @pytest.fixture
    def store_kwargs(self, tmp_path):
        path = tmp_path / "a.ozx"
        path.write_bytes(b"PK\5\6" + bytes(18))
        return {"path": str(path)}

    def test_store_supports_writes(self, store):
        assert not store.supports_writes
        assert not store.supports_deletes


def _needs_writing(name):
    async def test(self, store):
        with pytest.raises(ValueError, match="read-only mode"):
            await store.set("foo", self.buffer_cls.from_bytes(b"bar"))

    test.__name__ = name
    return test


# The suite's tests that set a value through the store itself; in mode "r" setting has to be refused instead.
for _name in (
    *("test_serializable_store", "test_store_read_only", "test_with_read_only_store", "test_set", "test_set_not_open"),
    *("test_set_many", "test_exists", "test_delete", "test_delete_dir", "test_delete_nonexistent_key_does_not_raise"),
    *("test_clear", "test_list", "test_list_prefix", "test_list_empty_path", "test_list_dir", "test_getsize_prefix"),
    *("test_set_if_not_exists", "test_store_open_read_only", "test_set_sync", "test_delete_sync"),
    *("test_delete_sync_missing", "test_sync_async_set_get_parity", "test_delete_sync_visible_to_async_get"),
    *("test_get_sync_byte_range_parity", "test_get_partial_values", "test_get_bytes", "test_get_bytes_sync"),
    *("test_get_json", "test_get_json_sync", "test_get_ranges"),
):
    if hasattr(StoreTests, _name):
        setattr(TestReading, _name, _needs_writing(_name))


def test_a_reading_store_cannot_become_a_writing_one(tmp_path):
    with pytest.raises(UsageError, match="opened for reading"):
        OzxStore(tmp_path / "a.ozx").with_read_only(read_only=False)


@pytest.mark.ci
@pytest.mark.filterwarnings("ignore::zarr.errors.UnstableSpecificationWarning")  # of types that zarr may draw
@pytest.mark.parametrize("machine", [ZarrStoreStateMachine, ZarrHierarchyStateMachine])
@pytest.mark.parametrize("mode", ["w", "a"])
def test_zarrs_stateful_test(tmp_path, mode, machine):
    number = iter(range(1_000_000))

    def make():
        return machine(OzxStore(tmp_path / f"{next(number)}.ozx", mode=mode, sync=False))

    run_state_machine_as_test(make, settings=settings(max_examples=20, stateful_step_count=20, deadline=None))
