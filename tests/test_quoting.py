"""Words in hints, quoted for the shells of the user's system."""

import json
import os
import subprocess
import sys

import pytest

from ozx.quoting import quote, quote_pattern


@pytest.mark.parametrize(
    ("word", "quoted"),
    [
        (r"C:\data\cells-1.ozx", r"C:\data\cells-1.ozx"),
        ("../raw/*.tif", "../raw/*.tif"),
        ("https://example.org/a.ozx", "https://example.org/a.ozx"),
        ("", '""'),
        ("Zürich 5 µm", '"Zürich 5 µm"'),
        ("it's (1) & more; 50%, ~x, #1, @2", '"it\'s (1) & more; 50%, ~x, #1, @2"'),
        ("cells.ozx|zip:A/1/", '"cells.ozx|zip:A/1/"'),
        ("-v.ozx", '"-v.ozx"'),  # PowerShell divides it at the point
        # Programs take \" for a quote.
        ("my folder\\", '"my folder\\\\"'),
        ('6" wafer', '"6"" wafer"'),
        ('a\\" b', '"a\\\\"" b"'),
        # PowerShell replaces variables and commands within quotes, also within curly ones.
        ("$x $(calc) ${y} `n", '"`$x `$(calc) `${y} ``n"'),
        (r"\\host\c$\5 $", r'"\\host\c$\5 $"'),
        ("“best”", '"`“best`”"'),
    ],
)
def test_words_for_windows(word, quoted):
    assert quote(word, "nt") == quoted


def test_words_for_posix():
    assert quote("it's", "posix") == "'it'\"'\"'s'"
    assert quote("a|b $x", "posix") == "'a|b $x'"


def test_patterns_stay_patterns():
    assert quote_pattern("my raw", "*.tif", "posix") == "'my raw'/*.tif"
    assert quote_pattern("my raw", "*.tif", "nt") == f'"{os.path.join("my raw", "*.tif")}"'
    assert quote_pattern("", "*.tif", "posix") == quote_pattern("", "*.tif", "nt") == "*.tif"


def test_a_program_gets_the_words(tmp_path):
    """The shell of this system; on Windows, cmd.exe."""
    folder = tmp_path / "Zürich 5 µm"
    folder.mkdir()
    words = [
        str(folder),
        "a & b (1).ozx",
        "50% it's",
        "x,y=1;2",
        "a|b>c<d^e",
        "-v.ozx",
        "my folder\\",
        "*.tif",
        "~ #@!",
    ]
    (folder / "print words.py").write_text("import json, sys; print(json.dumps(sys.argv[1:]))", "utf-8")
    line = " ".join(map(quote, [sys.executable, str(folder / "print words.py"), *words]))
    told = subprocess.run(line, shell=True, stdin=subprocess.DEVNULL, capture_output=True, check=True)
    assert json.loads(told.stdout) == words
