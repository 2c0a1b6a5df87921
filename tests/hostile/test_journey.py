"""A thousand images through everything that happens to a facility; each ends in a verified file or untouched.

Two are damaged, one changes all the time. The runs: one is killed, one interrupted, one finds its disk full, two pack
the same images at once, one is on another computer, one loses a worker of its cluster; the last two remove the sources.
"""

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from clusters import local_cluster
from hierarchies import make_image, tree
from posix_only import resource

from ozx.flow.run_log import failed_lines, read_log
from ozx.operations.verify import verify

pytestmark = [pytest.mark.ci, pytest.mark.posix("Windows has no such signals")]

COUNT, DAMAGED, RESTLESS = 1_000, (17, 600), 700

# Another computer: another name, another boot identifier, and locks that the first one cannot see.
ELSEWHERE = """
import sys
from ozx.atomic import host, locks, renaming, temporary
host.this_host = renaming.this_host = temporary.this_host = lambda: "node8-12345678"
locks.fcntl.flock = lambda descriptor, operation: None
from ozx.cli.app import run
sys.exit(run(sys.argv[1:]))
"""


@pytest.fixture
def sources(tmp_path, monkeypatch):
    """A thousand images below ``raw``, two of them damaged, copied from one."""
    monkeypatch.chdir(tmp_path)
    model = make_image(tmp_path / "model")
    names = [f"raw/image-{number:04}.ome.zarr" for number in range(COUNT)]
    for name in names:
        shutil.copytree(model, name)
    (tmp_path / names[DAMAGED[0]] / "zarr.json").write_bytes(b"{")
    (tmp_path / names[DAMAGED[1]] / "zarr.json").unlink()
    return names


@pytest.fixture
def restless(sources):
    """A chunk of one image that grows all the time."""
    (chunk,) = (path for path in tree(sources[RESTLESS]) if not path.endswith("zarr.json"))
    stop = threading.Event()

    def write():
        for number in itertools.count():
            with open(f"{sources[RESTLESS]}/{chunk}", "ab") as file:
                file.write(b"%d" % number)
            if stop.wait(0.002):
                return

    writer = threading.Thread(target=write)
    writer.start()
    yield
    stop.set()
    writer.join()


def arguments(sources, *options):
    return ["pack", *sources, "--out-dir", "out", "--resume", "--manifest", "--log", "run.jsonl", *options]


def start(*words, program=("-m", "ozx"), **options):
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    return subprocess.Popen([sys.executable, *program, *words], **pipes, **options)


def stop_after(child, lines, number):
    """Send a signal after some lines; return the exit code."""
    for _ in range(lines):
        child.stdout.readline()
    child.send_signal(number)
    child.stdout.read()
    child.stdout.close()
    return child.wait()


def whole_files():
    return {name for name in os.listdir("out") if name.endswith(".ozx") and not name.startswith(".")}


def test_every_image_ends_in_a_verified_file_or_untouched(sources, restless, tmp_path):
    before = {name: tree(name) for name in sources if name != sources[RESTLESS]}

    assert stop_after(start(*arguments(sources)), 100, signal.SIGKILL) == -signal.SIGKILL
    assert stop_after(start(*arguments(sources)), 200, signal.SIGINT) == 130
    assert 200 <= len(whole_files()) < COUNT

    def fill():
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    full = start(*arguments(sources), preexec_fn=fill)
    full.communicate()
    assert full.returncode == 4

    words = arguments(sources[400:600])
    other = [word if word != "run.jsonl" else "other.jsonl" for word in arguments(sources[600:800])]
    here, twin, elsewhere = start(*words), start(*words), start(*other, program=("-c", ELSEWHERE))
    for child in (here, twin, elsewhere):
        child.communicate()
    assert (here.returncode, twin.returncode, elsewhere.returncode) == (0, 0, 3)

    with local_cluster() as (cluster, client):
        victim = next(iter(client.run(os.getpid).values()))
        child = start(*arguments(sources, "--dask", cluster.scheduler_address))
        for _ in range(50):
            child.stdout.readline()
        os.kill(victim, signal.SIGKILL)
        child.communicate()
        assert child.returncode == 3

    twins = [start(*arguments(sources, "--remove-source")) for _ in range(2)]
    for child in twins:
        child.communicate()
        assert child.returncode == 3
    check_all(sources, before)


def check_all(sources, before):
    """Check each source, its file, and its last line in the log."""
    lines = {line.source: line for line in read_log("run.jsonl") if line is not None}
    failed = {sources[number] for number in (*DAMAGED, RESTLESS)}
    told = failed_lines(read_log("run.jsonl"), "pack")
    assert {line.source for line in told} == {os.path.abspath(name) for name in failed}
    for name in sources:
        line = lines[os.path.abspath(name)]
        if name in failed:
            assert line.exit != 0
            assert not line.source_removed
            assert name == sources[RESTLESS] or tree(name) == before[name]
        else:
            assert (line.exit, line.source_removed, os.path.exists(name)) == (0, True, False)
            assert verify(line.output).entries == len(before[name])
            values = json.loads(Path(f"{line.output}.manifest.json").read_text(encoding="utf-8"))["values"]
            assert {value["key"]: value["bytes"] for value in values} == {
                key: len(value) for key, value in before[name].items()
            }
    expected = {os.path.basename(name).replace(".ome.zarr", ".ozx") for name in sources}
    missing = expected - whole_files()
    assert missing <= {os.path.basename(name).replace(".ome.zarr", ".ozx") for name in failed}
    assert not [name for name in os.listdir("out") if name.endswith(".ozx-tmp") and "node8" not in name]
