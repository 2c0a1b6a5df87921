"""The images of a stream: positions of a series, and fields of a plate."""

import numpy as np
import pytest

from ozx.errors import UsageError
from ozx.images.streaming.stream_images import Positions

NAMED = Positions({"left": 1, "right": 2})


@pytest.mark.parametrize("position", [None, True, -1, 2, 1.0, "", "up", [0], np.array([0, 1]), 2**70])
def test_other_values_are_no_positions(position):
    with pytest.raises(UsageError, match="expected one of the 2 positions; got ") as caught:
        NAMED.find(position)
    assert caught.value.hint == "Give a number or name, such as 'left', 'right'."
