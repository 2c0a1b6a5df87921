"""What killed processes leave, and what it is told from."""

import os
import subprocess
import sys

from atomic_writing import names, write
from sweeping import forget_swept_folders

from ozx.atomic.new_file import replacing_file

KILLED = """
import os, signal, sys
from ozx.atomic.new_directory import replacing_directory
from ozx.atomic.new_file import replacing_file
with replacing_file(sys.argv[1]) as new, replacing_directory(sys.argv[2]) as directory:
    os.write(new.descriptor, b"half")
    open(os.path.join(directory.path, "half"), "w").close()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_leftovers_of_a_killed_process_are_swept_and_those_of_live_ones_are_not(tmp_path):
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "f"), str(tmp_path / "d")], check=False)
    assert killed.returncode == -9
    assert len(names(tmp_path)) == 2
    foreign = tmp_path / ".notes.txt.ozx-tmp"
    foreign.write_text("has no process id in its name", encoding="ascii")
    with replacing_file(str(tmp_path / "alive")) as alive:
        assert len(alive.swept) == 2
        forget_swept_folders()
        swept = write(tmp_path / "b", b"b").swept
        assert swept == []
        assert os.path.exists(alive.path)
    assert names(tmp_path) == [".notes.txt.ozx-tmp", "alive", "b"]
