"""How many threads a run has, by the processors that this process may use."""

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import ozx
from ozx.errors import UsageError
from ozx.threads import _quota_of_process, checked_jobs, default_jobs, processors, working


@pytest.fixture
def many(monkeypatch):
    """A computer with 64 processors, all of which this process may use."""
    _quota_of_process.cache_clear()  # pytest may use a folder again
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "process_cpu_count", lambda: 64, raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)), raising=False)


def fake(root, groups, files):
    """Write the files that describe the cgroup of a process."""
    for name, text in {"proc/self/cgroup": groups, **{f"sys/fs/cgroup/{name}": files[name] for name in files}}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.mark.parametrize(
    ("groups", "files", "count"),
    [
        pytest.param("0::/\n", {"cpu.max": "100000 100000\n"}, 1, id="a container"),
        pytest.param("0::/\n", {"cpu.max": "150000 100000\n"}, 2, id="one and a half"),
        pytest.param("0::/\n", {"cpu.max": "1000 100000\n"}, 1, id="less than one"),
        pytest.param("0::/\n", {"cpu.max": "max 100000\n"}, 64, id="no quota"),
        pytest.param("0::/a/b\n", {"a/cpu.max": "300000 100000", "a/b/cpu.max": "max 100000"}, 3, id="a parent"),
        pytest.param("0::/a/b\n", {"a/cpu.max": "300000 100000", "a/b/cpu.max": "200000 100000"}, 2, id="both"),
        pytest.param("0::/../job\n", {"cpu.max": "400000 100000"}, 4, id="a group outside of the name space"),
        pytest.param(
            "4:memory:/\n1:cpu,cpuacct:/job\n",
            {"cpu,cpuacct/job/cpu.cfs_quota_us": "200000\n", "cpu,cpuacct/job/cpu.cfs_period_us": "100000\n"},
            2,
            id="version 1",
        ),
        pytest.param(
            "3:cpuacct,cpu:/docker/0123\n0::/\n",
            {"cpu/cpu.cfs_quota_us": "50000\n", "cpu/cpu.cfs_period_us": "10000\n"},
            5,
            id="version 1 in a container",
        ),
        pytest.param(
            "1:cpu:/\n", {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, 64, id="minus one"
        ),
        pytest.param("1:cpu:/\n", {"cpu/cpu.cfs_quota_us": "1000"}, 64, id="no period"),
        pytest.param("1:cpu:/\n", {"cpu/cpu.cfs_quota_us": "1", "cpu/cpu.cfs_period_us": "0"}, 64, id="period 0"),
        pytest.param("2:cpuset:/\n", {"cpuset/cpu.cfs_quota_us": "1", "cpuset/cpu.cfs_period_us": "1"}, 64, id="other"),
        pytest.param("0::/\n", {"cpu.max": "\0\n"}, 64, id="nonsense"),
        pytest.param("nonsense\n", {"cpu.max": "100000 100000\n"}, 64, id="nonsense before"),
    ],
)
def test_the_quota_of_a_cgroup_counts(tmp_path, many, groups, files, count):
    fake(tmp_path, groups, files)
    assert processors(str(tmp_path)) == count


def test_affinity_counts(tmp_path, many, monkeypatch):
    assert processors(str(tmp_path)) == 64
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 5}, raising=False)
    assert processors(str(tmp_path)) == 2
    fake(tmp_path / "quota", "0::/\n", {"cpu.max": "100000 100000"})
    assert processors(str(tmp_path / "quota")) == 1
    assert default_jobs() <= 2


def test_a_system_without_affinity(tmp_path, many, monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert processors(str(tmp_path)) == 64
    monkeypatch.delattr(os, "process_cpu_count", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert processors(str(tmp_path)) == 1


def test_a_stream_starts_a_thread_for_each_usable_processor(tmp_path, many, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0}, raising=False)
    before = threading.active_count()
    with ozx.stream(tmp_path / "a.ozx", axes="tyx", shape=(None, 8, 8), dtype="uint8", sync=False) as frames:
        assert threading.active_count() - before == 2  # one encodes, one syncs
        frames.append(np.zeros((8, 8), "uint8"))


def test_only_one_module_counts_processors():
    home = Path(ozx.__file__).parent
    found = [path.name for path in home.rglob("*.py") if "cpu_count" in path.read_text("utf-8")]
    assert found == ["threads.py"]


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="only Linux has it")
def test_a_process_bound_to_one_processor():
    code = "import os; os.sched_setaffinity(0, list(os.sched_getaffinity(0))[:1]); "
    code += "from ozx.threads import default_jobs; print(default_jobs())"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "1\n"


@pytest.mark.parametrize(
    ("jobs", "message"),
    [(0, "at least 1 job; got 0"), (-2, "got -2"), (1.5, "a whole number of jobs; got 1.5"), ("2", "got '2'")],
)
def test_other_numbers_are_refused(jobs, message):
    with pytest.raises(UsageError, match=message):
        checked_jobs(jobs)
    with pytest.raises(UsageError, match=message), working(jobs):
        pass
    with pytest.raises(UsageError, match=message), ThreadPoolExecutor(1) as pool, working(jobs, pool):
        pass
