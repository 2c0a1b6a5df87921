"""An item in lists of a file of others: every other byte stays."""

import pytest

from ozx.desktop.association.key_file import find_value, with_item, without_item

SECTION, KEY, OURS = "Default Applications", "application/vnd.ome.zarr+zip", "ozx-toolkit.desktop"

ODD = [
    "",
    "\n",
    "# only a comment",
    "[Default Applications]",
    "[Default Applications]\n",
    "[Default Applications]\r\ntext/plain=vim.desktop\r\n",
    "[Default Applications]\ntext/plain=vim.desktop",
    "[Added Associations]\nimage/png=gimp.desktop;\n\n[Default Applications]\nimage/png=gimp.desktop\n",
    "[Default Applications]\nimage/png=gimp.desktop;;feh.desktop\n\n[Default Applications]\ntext/plain=vim.desktop\n",
    "stray words\n=novalue\nkey without equals\n[Unclosed\n[Default Applications]\n  image/png = gimp.desktop ;\n",
    "[Default Applications]\nname[de]=wert\n\x0b\x85\u2028=\udcff\n",
    "[default applications]\nimage/png=gimp.desktop\n",
]


@pytest.mark.parametrize("text", ODD)
def test_every_other_line_stays(text):
    changed = with_item(text, SECTION, KEY, OURS)
    assert find_value(changed, SECTION, KEY) == OURS + ";"
    assert with_item(changed, SECTION, KEY, OURS) == changed
    rest = [line.rstrip("\r") for line in changed.split("\n")]
    for line in text.split("\n"):
        rest.remove(line.rstrip("\r"))
    assert set(rest) <= {"", f"[{SECTION}]", f"{KEY}={OURS};"}
    assert ("\r\n" in changed) == ("\r\n" in text)


@pytest.mark.parametrize("text", [text for text in ODD if text.endswith("\n") or not text])
def test_without_our_item_a_file_is_what_it_was(text):
    changed = with_item(with_item(text, SECTION, KEY, OURS), "Added Associations", KEY, OURS)
    assert without_item(changed, [SECTION, "Added Associations"], KEY, OURS, text) == text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"[{SECTION}]\n{KEY}=napari.desktop\n", f"[{SECTION}]\n{KEY}={OURS};napari.desktop;\n"),
        (f"[{SECTION}]\nx=y\n{KEY} = a;b;\n", f"[{SECTION}]\nx=y\n{KEY}={OURS};a;b;\n"),
        (f"[{SECTION}]\n{KEY}=a;{OURS};b\n", f"[{SECTION}]\n{KEY}={OURS};a;b;\n"),
        (f"[{SECTION}]\n{KEY}=a\n{KEY}=b\n[{SECTION}]\n{KEY}=c\n", f"[{SECTION}]\n[{SECTION}]\n{KEY}={OURS};c;\n"),
        (f"[Removed Associations]\n{KEY}=a\n", f"[Removed Associations]\n{KEY}=a\n[{SECTION}]\n{KEY}={OURS};\n"),
    ],
)
def test_other_programs_come_after_ours_and_are_there_again_without_it(before, after):
    assert with_item(before, SECTION, KEY, OURS) == after
    again = without_item(after, [SECTION], KEY, OURS, before)
    assert OURS not in again
    kept = (find_value(before, SECTION, KEY) or "").replace(f"{OURS};", "").rstrip(";")
    assert (find_value(again, SECTION, KEY) or "").rstrip(";") == kept


def test_copies_of_our_item_go_too_and_headers_of_others_stay():
    now = f"[Added Associations]\n{KEY}=other.desktop;{OURS};\n[Theirs]\n{KEY}={OURS}\n\n[{SECTION}]\n{KEY}={OURS};\n\n"
    assert without_item(now, [SECTION], KEY, OURS, "") == f"[Added Associations]\n{KEY}=other.desktop;\n[Theirs]\n\n\n"


def test_a_choice_made_since_stays():
    now = f"[{SECTION}]\n{KEY}=other.desktop\n"
    assert without_item(now, [SECTION], KEY, OURS, "") == now


def test_what_stands_in_no_section_is_not_found():
    assert find_value("x=1\n[A]\n", "A", "x") is None
    assert find_value("#[A]\nx=1\n", "A", "x") is None
