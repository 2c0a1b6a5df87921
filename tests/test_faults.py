"""Faults of ozx itself: a report of a few lines."""

import pickle

import pytest

import ozx
from ozx.errors import FormatError, ResourceError
from ozx.faults import FaultError, as_error
from ozx.zarr.keys import node_of


def caught_from(call):
    try:
        call()
    except Exception as error:  # noqa: BLE001 (whichever it is)
        return error
    raise AssertionError("nothing was raised")


def test_a_fault_names_exception_place_and_versions():
    fault = as_error(caught_from(lambda: node_of(None)))
    assert isinstance(fault, FaultError)
    first, second = fault.message.splitlines()
    assert first.startswith("this is a fault of ozx, not of your files: ")
    assert second.startswith("  at ozx/zarr/keys.py:")
    assert f"; ozx {ozx.__version__}, Python 3." in second
    assert "Please report it" in fault.hint
    assert "://" not in fault.message + fault.hint


def test_a_fault_survives_pickling():
    fault = as_error(caught_from(lambda: node_of(None)))
    again = pickle.loads(pickle.dumps(fault))
    assert (str(again), again.hint, again.fault) == (str(fault), fault.hint, fault.fault)
    assert "ozx/zarr/keys.py:" in again.fault


def test_a_long_message_of_several_lines_becomes_one():
    assert len(as_error(ValueError("\n".join(["x" * 100] * 100))).message.splitlines()) == 2


def test_errors_on_purpose_stay_what_they_are():
    error = FormatError("broken")
    assert as_error(error) is error
    assert isinstance(as_error(PermissionError(13, "Permission denied", "a")), PermissionError)
    memory = as_error(MemoryError("Unable to allocate 4 EiB"))
    assert isinstance(memory, ResourceError)
    assert memory.message == "this computer ran out of memory: Unable to allocate 4 EiB"


@pytest.mark.parametrize("wanted", ["", "1"])
def test_the_traceback_is_shown_to_those_who_ask(monkeypatch, capsys, wanted):
    monkeypatch.setenv("OZX_DEBUG", wanted)
    as_error(caught_from(lambda: node_of(None)))
    assert ("Traceback" in capsys.readouterr().err) is bool(wanted)
