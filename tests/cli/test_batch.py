"""Many files on the command line, in a pipe and in a terminal: lines, bar, counts."""

import os
import signal
import subprocess
import sys

import pytest
from commands import command
from hierarchies import make_image

from ozx.cli.exit_codes import batch_code

ozx = command()
pytest_posix = pytest.mark.posix("Windows has no pseudo-terminals and no SIGKILL")


@pytest.fixture
def images(here):
    """Twelve images, one of which is none."""
    names = [f"image-{number:02}.ome.zarr" for number in range(12)]
    for name in names:
        make_image(here / name)
    (here / names[5] / "zarr.json").write_bytes(b"{")
    return names


@pytest.mark.ci
@pytest_posix
def test_a_pipe_gets_each_line_while_later_files_are_still_to_come(here):
    names = [make_image(here / f"image-{number:03}.ome.zarr").name for number in range(300)]
    (here / names[1] / ".DS_Store").write_bytes(b"x")
    arguments = [sys.executable, "-m", "ozx", "pack", *names, "--out-dir", "out", "--no-sync"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        lines = [child.stdout.readline() for _ in range(3)]
        child.send_signal(signal.SIGKILL)
        lines += child.stdout.readlines()
        err = child.stderr.read()
    written = sorted(name for name in os.listdir(here / "out") if name.endswith(".ozx") and not name.startswith("."))
    assert [line.split()[0] for line in lines[:3]] == [f"out/image-00{number}.ozx" for number in range(3)]
    assert len(lines) <= len(written) < len(names)
    assert f"left out: {names[1]}: .DS_Store\n" in err


@pytest.mark.ci
@pytest_posix
@pytest.mark.parametrize(
    ("options", "advice"), [(["--resume"], "the same command again"), ([], "the same command again, with --resume")]
)
def test_an_interrupt_says_what_is_left_and_how_to_go_on(here, options, advice):
    names = [make_image(here / f"image-{number:03}.ome.zarr").name for number in range(300)]
    arguments = [sys.executable, "-m", "ozx", "pack", *names, "--out-dir", "out", "--no-sync", *options]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        child.stdout.readline()
        child.send_signal(signal.SIGINT)
        # `communicate` would miss the lines that came together with the first one.
        out, err = child.stdout.read(), child.stderr.read()
    assert child.returncode == 130
    counts, rest, last = filter(None, err.splitlines())
    done = len(out.splitlines()) + 1
    assert counts == f"{done} packed, 0 skipped, 0 failed"
    assert rest == f"{300 - done} not done: give {advice}"
    assert last == "interrupted; no incomplete file was left"


@pytest.mark.parametrize("verb", ["pack", "validate", "verify", "unpack"])
def test_a_pattern_without_matches_is_a_wrong_command_line(capsys, here, verb):
    make_image(here / "[a].ome.zarr")
    options = [] if verb in ("validate", "verify") else ["--out-dir", "out"]
    code, out, err = ozx(capsys, verb, "[a].ome.zarr", "raw/*.ome.zarr", *options, "--log", "run.jsonl")
    assert (code, out) == (2, "")
    assert err.startswith("error: no file matches raw/*.ome.zarr\nhint: Correct the folder or the pattern. ")
    assert os.listdir(here) == ["[a].ome.zarr"]


@pytest.mark.ci
@pytest_posix
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_terminal_shows_one_bar_and_never_glues_a_line_to_it(images, jobs):
    from terminals import run_in_terminal  # noqa: PLC0415 (needs a pseudo-terminal)

    shown = run_in_terminal("pack", *images, "--out-dir", "out", "--jobs", jobs, "--no-sync")
    assert shown.code == 3
    bars = [line for screen in shown.screens for line in screen if "/12 files" in line]
    assert bars
    assert all("image-" not in line and "error:" not in line for line in bars)
    assert all(sum("/12 files" in line for line in screen) <= 1 for screen in shown.screens)
    assert sum(line.startswith("out/image-") and line.endswith("KiB") for line in shown.last) == 11
    assert [line for line in shown.last if line.startswith("error: image-05.ome.zarr")]
    assert shown.last[-1] == "11 packed, 0 skipped, 1 failed"


@pytest.mark.ci
@pytest_posix
def test_results_in_a_pipe_stay_free_of_the_bar(images):
    from terminals import run_in_terminal  # noqa: PLC0415 (needs a pseudo-terminal)

    shown = run_in_terminal("pack", *images, "--out-dir", "out", "--no-sync", is_piped=True)
    assert len(shown.stdout.splitlines()) == 11
    assert all(line.startswith("out/image-") for line in shown.stdout.splitlines())
    assert "\x1b" not in shown.stdout
    assert any("/12 files" in line for screen in shown.screens for line in screen)
    assert not any("/12 files" in line for line in shown.last)


@pytest.mark.ci
@pytest_posix
def test_a_bar_of_one_file_has_the_total_of_the_file(here):
    from terminals import run_in_terminal  # noqa: PLC0415 (needs a pseudo-terminal)

    image = make_image(here / "cells.ome.zarr")
    (chunk,) = (path for path in image.rglob("*") if path.is_file() and path.name != "zarr.json")
    chunk.write_bytes(bytes(200 << 20))
    shown = run_in_terminal("pack", image, "--no-sync", "--verify")
    bars = [line for screen in shown.screens for line in screen if line.startswith("cells.ozx ━")]
    assert bars
    assert all("/400.0 MiB" in line for line in bars)  # read once, and once more to verify
    assert len(shown.last) == 1


@pytest.mark.usefixtures("images")
def test_quiet_prints_failures_only(capsys, images):
    code, out, err = ozx(capsys, "pack", *images, "--out-dir", "out", "--quiet", "--no-sync")
    assert (code, out) == (3, "")
    assert [line for line in err.splitlines() if not line.startswith("hint: ")] == [
        line for line in err.splitlines() if line.startswith("error: image-05.ome.zarr: ")
    ]
    code, out, err = ozx(capsys, "validate", *images, "--quiet")
    assert code == 1
    assert out.startswith("image-05.ome.zarr: not valid: 1 error\n")
    assert "note" not in out
    assert err == ""


def test_a_failure_names_its_source(capsys, here):
    for name in ("a", "b"):
        make_image(here / f"{name}.ome.zarr")
    assert ozx(capsys, "pack", "a.ome.zarr", "b.ome.zarr", "--out-dir", "out", "--no-sync")[0] == 0
    code, _, err = ozx(capsys, "pack", "a.ome.zarr", "b.ome.zarr", "--out-dir", "out")
    assert code == 3
    assert f"error: b.ome.zarr: out{os.sep}b.ozx: the file exists already\nhint: Give --resume" in err
    assert ozx(capsys, "unpack", "out/a.ozx", "out/b.ozx", "--out-dir", "back", "--no-sync")[0] == 0
    assert (
        f"error: out/b.ozx: back{os.sep}b.ome.zarr: the directory exists already\n"
        in ozx(capsys, "unpack", "out/a.ozx", "out/b.ozx", "--out-dir", "back")[2]
    )


def test_a_batch_with_a_fault_says_so_by_its_code():
    failure = {"message": "", "rule": None, "hint": None}
    assert batch_code([None, None]) == 0
    assert batch_code([None, failure]) == 3
    assert batch_code([failure, failure | {"fault": "TypeError"}, None]) == 70


@pytest.mark.posix("no device that is always full", on="linux")
@pytest.mark.parametrize(("is_full", "code"), [(False, 0), (True, 4)], ids=["closed pipe", "full disk"])
def test_the_work_goes_on_when_nobody_reads(here, is_full, code):
    reader, out = (os.open("/dev/null", os.O_RDONLY), os.open("/dev/full", os.O_WRONLY)) if is_full else os.pipe()
    os.close(reader)
    names = [make_image(here / f"{name}.ome.zarr").name for name in "ab"]
    arguments = [sys.executable, "-m", "ozx", "pack", *names, "--out-dir", "out", "--no-sync"]
    done = subprocess.run(arguments, stdout=out, stderr=subprocess.PIPE, text=True, check=False)
    os.close(out)
    assert (done.returncode, sorted(os.listdir(here / "out"))) == (code, ["a.ozx", "b.ozx"])
    assert "2 packed" in done.stderr
    assert ("standard output cannot be written: No space left" in done.stderr) == is_full
