"""The custom actions of Thunar: ours comes and goes, everything else stays to the letter."""

import xml.etree.ElementTree as ET

import pytest

from ozx.desktop.association.thunar_actions import EMPTY, make_action, with_action, without_action

ACTION = make_action("ours", "Convert", "'/a & b/<ozx>' %F", "icon", "*.tif")
OTHERS = """<?xml version="1.0" encoding="UTF-8"?>
<actions>
<action>
\t<name>Other</name>
\t<unique-id>1</unique-id>
\t<directories/>
</action>
</actions>
"""


@pytest.mark.parametrize("text", [EMPTY, OTHERS, OTHERS.replace("\n", "\r\n"), "<actions></actions>"])
def test_it_comes_and_goes(text):
    new = with_action(text, "ours", ACTION)
    assert with_action(new, "ours", ACTION) == new
    ids = [element.text for element in ET.fromstring(new.encode()).iter("unique-id")]
    assert ids == (["1", "ours"] if "Other" in text else ["ours"])
    assert without_action(new, "ours") == text


def test_a_file_that_is_missing_or_empty_begins_anew():
    assert with_action("", "ours", ACTION) == with_action(EMPTY, "ours", ACTION)


def test_an_earlier_one_is_replaced():
    new = make_action("ours", "Convert", "elsewhere %F", "icon", "*.tif")
    changed = with_action(with_action(OTHERS, "ours", ACTION), "ours", new)
    assert changed == with_action(OTHERS, "ours", new)


def test_what_is_no_list_of_actions_stays():
    assert with_action("text", "ours", ACTION) == "text"


def test_names_and_commands_are_escaped():
    (action,) = ET.fromstring(with_action("", "ours", ACTION).encode())
    assert action.findtext("command") == "'/a & b/<ozx>' %F"
