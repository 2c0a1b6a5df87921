"""Recovery of bytes, for tests."""

import warnings

import pytest
from packed import unmarked, values_of

from ozx.operations.recover import recover


@pytest.fixture
def attempt(tmp_path):
    """A function that recovers bytes and returns the result and the new file's values."""

    def attempt(data):
        broken, out = tmp_path / "broken.ozx", tmp_path / "out" / "a.ozx"
        out.parent.mkdir(exist_ok=True)
        broken.write_bytes(data)
        with warnings.catch_warnings():
            # Damage makes such keys; tests/cli/test_unknown_metadata.py looks at the warning itself.
            warnings.filterwarnings("ignore", message=".* keys that ozx does not understand")
            result = recover(broken, out, force=True, sync=False)
        assert broken.read_bytes() == data
        return result, unmarked(values_of(out))

    return attempt
