"""Run the lines of "Use" in README.md as cmd.exe runs them, in a folder with blanks and letters beyond ASCII.

``python tests/windows/readme_lines.py``, with the Python that has ozx, exits with 1 if a line fails.
On other systems than Windows, sh takes the place of cmd.exe.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

import numpy as np
import tifffile

ROOT = Path(__file__).resolve().parents[2]
FOLDER = "Zürich 5 µm"
LONGEST = 120.0  # seconds for one line

# Stands for the program ozx: what ends a process ends cmd.exe alone, so it tells its own number.
PROGRAM = """\
import os, sys
with open(sys.argv.pop(1), "w") as file:
    file.write(str(os.getpid()))
from ozx.cli.app import main
main()
"""


def main() -> None:
    lines = readme_lines()
    with tempfile.TemporaryDirectory() as above:
        folder = Path(above) / FOLDER
        folder.mkdir()
        (Path(above) / "program.py").write_text(PROGRAM, "utf-8")
        shutil.copytree(ROOT / "fixtures" / "image.ome.zarr", folder / "cells.ome.zarr")
        tifffile.imwrite(folder / "stack.tif", np.arange(3 * 64 * 48, dtype="u2").reshape(3, 64, 48))
        for line in lines:
            began = time.monotonic()
            run_line(line, folder)
            print(f"{time.monotonic() - began:5.1f} s  {line}", flush=True)
        if files(folder / "copy.zarr") != files(folder / "cells.ome.zarr"):
            fail("copy.zarr is not what cells.ome.zarr was")
        if not (folder / "stack.ozx").is_file():
            fail("there is no stack.ozx")
    print(f"{len(lines)} lines of README.md are right in a folder called {FOLDER!a}")


def readme_lines() -> list[str]:
    """Return the commands of the section "Use", without their comments, which cmd.exe does not know."""
    text = (ROOT / "README.md").read_text("utf-8")
    found = re.search(r"^## Use\n+```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    lines = [line.partition(" #")[0].strip() for line in (found[1] if found else "").splitlines()]
    lines = [line for line in lines if line]
    if not lines or not all(line.startswith("ozx ") for line in lines):
        fail(f'README.md has no block of ozx commands below "Use"; found {lines}')
    return lines


def run_line(line: str, folder: Path) -> None:
    program, number = folder.parent / "program.py", folder.parent / "number.txt"
    number.unlink(missing_ok=True)  # of the line before
    command = line.replace("ozx", f'"{sys.executable}" "{program}" "{number}"', 1)
    is_view = line.startswith("ozx view ")
    child = subprocess.Popen(
        f"{command} --no-browser" if is_view else command,
        shell=True,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )
    watch = threading.Timer(LONGEST, end, [number])
    watch.start()
    try:
        output = "".join(until_page(child) if is_view else child.stdout)
    except UnicodeDecodeError as error:
        fail(f"{line}: its output is not UTF-8: {error}")
    finally:
        watch.cancel()
        if is_view:
            end(number)
    code = child.wait()
    if not is_view and code:
        fail(f"{line}: exit code {code}\n{output}")
    if is_view and "<html" not in output:
        fail(f"{line}: there is no page\n{output}")


def until_page(child: subprocess.Popen[str]) -> list[str]:
    """Return the printed lines up to the address, and the page that is there."""
    output = []
    for line in child.stdout:
        output.append(line)
        if line.startswith("http://"):
            with urllib.request.urlopen(line.strip(), timeout=LONGEST) as page:
                return [*output, page.read().decode("utf-8")]
    return output


def end(number: Path) -> None:
    with contextlib.suppress(OSError):
        os.kill(int(number.read_text("utf-8")), signal.SIGTERM)


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def fail(message: str) -> None:
    sys.exit("README.md: " + message.encode("ascii", "backslashreplace").decode())


if __name__ == "__main__":
    main()
