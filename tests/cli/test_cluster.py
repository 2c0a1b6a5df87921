"""`--dask`: each file by a worker of a cluster; lost workers, other versions."""

import json
import os
import signal
import threading
import time

import pytest
from clusters import local_cluster
from commands import command
from hierarchies import make_image

import ozx as library
from ozx.cli import options

pytestmark = pytest.mark.ci
ozx = command()


@pytest.fixture(scope="module")
def address():
    with local_cluster() as (running, _):
        yield running.scheduler_address


def test_the_same_files_lines_and_log_as_without(capsys, here, address):
    names = [f"{letter}.ome.zarr" for letter in "abcd"]
    for name in names:
        make_image(here / name)
    (here / "b.ome.zarr" / "zarr.json").write_bytes(b"{")
    (here / "one").mkdir()
    library.pack(here / "c.ome.zarr", here / "one" / "c.ozx", sync=False)  # there already
    found = []
    for folder, words in (("plain", []), ("one", ["--dask", address])):
        (here / folder).mkdir(exist_ok=True)
        if folder == "plain":
            library.pack(here / "c.ome.zarr", here / "plain" / "c.ozx", sync=False)
        paths = [str(here / name) for name in names]
        arguments = [*paths, "--out-dir", here / folder, "--manifest", "--log", here / f"{folder}.jsonl"]
        code, out, err = ozx(capsys, "pack", *arguments, *words)
        lines = [json.loads(text) for text in (here / f"{folder}.jsonl").read_text().splitlines()]
        outcome = sorted(
            (line["source"], line["exit"], line["status"], (line["error"] or {}).get("code")) for line in lines
        )
        counts = err.splitlines()[-1]
        shown = sorted(line.replace(str(here / folder), "") for line in out.splitlines())
        data = {name: (here / folder / name).read_bytes() for name in ("a.ozx", "d.ozx")}
        found.append((code, outcome, counts, shown, data, sorted(os.listdir(here / folder))))
    assert found[0] == found[1]
    assert found[0][0] == 3
    assert found[0][2] == "2 packed, 0 skipped, 2 failed"


def test_a_lost_worker_s_files_are_made_by_the_other(capsys, here):
    names = [str(make_image(here / f"{number:02}.ome.zarr")) for number in range(40)]
    with local_cluster() as (running, client):
        victim = next(iter(client.run(os.getpid).values()))

        def kill():
            deadline = time.monotonic() + 30
            while time.monotonic() < deadline and not any(here.glob("out/*.ozx")):
                time.sleep(0.005)
            os.kill(victim, signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        arguments = ["--out-dir", here / "out", "--dask", running.scheduler_address, "--log", here / "run.jsonl"]
        code, out, err = ozx(capsys, "pack", *names, *arguments)
        killer.join()
    assert (code, err.splitlines()[-1]) == (0, "40 packed, 0 skipped, 0 failed")
    assert len(out.splitlines()) == 40
    lines = [json.loads(text)["source"] for text in (here / "run.jsonl").read_text().splitlines()]
    assert sorted(lines) == names
    assert sorted(name for name in os.listdir(here / "out") if not name.startswith(".")) == [
        f"{number:02}.ozx" for number in range(40)
    ]
    assert all(library.validate(here / "out" / f"{number:02}.ozx").valid for number in range(40))


def test_another_version_is_refused(capsys, here, address, monkeypatch):
    image = str(make_image(here / "a.ome.zarr"))
    monkeypatch.setattr(library, "__version__", "0.0.9")
    code, _, err = ozx(capsys, "pack", image, "--dask", address)
    assert code == 2
    assert "--dask: expected ozx 0.0.9 on every worker; found " in err
    # A worker that joins after the check.
    monkeypatch.setattr(options, "_version", lambda: "0.0.9")
    monkeypatch.setattr("distributed.Client.run", lambda self, function: {})
    code, _, err = ozx(capsys, "pack", image, "--dask", address)
    assert code == 3
    assert "expected a worker with ozx 0.0.9; this one has " in err
    assert os.listdir(here) == ["a.ome.zarr"]
