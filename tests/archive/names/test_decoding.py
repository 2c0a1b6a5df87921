"""Entry names: decoding, encoding, refusal."""

import pytest

from ozx.archive.names.decoding import encode_name, name_fault
from ozx.errors import FormatError


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("\udcff", r"entry name '\\udcff' is refused: it is not valid UTF-8"),
        ("x" * 65_536, r"entry name 'x{100}…' is refused: it is longer than 65,535 bytes"),
        ("é" * 32_768, r"entry name 'é{100}…' is refused: it is longer than 65,535 bytes"),
    ],
)
def test_names_that_no_header_can_hold_are_refused(name, fault):
    with pytest.raises(FormatError, match=f"^{fault}$") as caught:
        encode_name(name)
    assert caught.value.rule == "zip/name"
    assert name_fault(name) in str(caught.value)
