"""Compare ozx with s5cmd and rclone in moving images between a bucket and a disk: ``python bench/buckets.py FOLDER``.

The server is `rclone serve s3` behind nginx; the Lua module of nginx sleeps before each request, which adds the delay.
Both run on this computer, beside the measured command. `wrk` measures the rate of nginx alone. The commands take turns,
each in a fresh process; their outputs are compared. Prints tables.
"""

from __future__ import annotations

import argparse
import filecmp
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

_NGINX = """
load_module modules/ndk_http_module.so;
load_module modules/ngx_http_lua_module.so;
daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{
  access_log off; sendfile on; client_max_body_size 0; client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy; lua_package_path "/usr/share/lua/5.1/?.lua;;";
  upstream s3 {{ server 127.0.0.1:{s3}; keepalive 256; }}
  server {{
    listen 127.0.0.1:{port}; keepalive_requests 1000000;
    location / {{
      access_by_lua_block {{ if {delay} > 0 then ngx.sleep({delay}) end }}
      proxy_pass http://s3; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $http_host;
      proxy_buffering off; proxy_request_buffering off;
    }}
    location /files/ {{
      access_by_lua_block {{ if {delay} > 0 then ngx.sleep({delay}) end }}
      alias {files}/;
    }}
  }}
}}
"""
_ENVIRONMENT = {"AWS_ACCESS_KEY_ID": "someone", "AWS_SECRET_ACCESS_KEY": "something", "AWS_REGION": "us-east-1"}


def free_port() -> int:
    """Return a port that no program uses."""
    import socket

    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return int(server.getsockname()[1])


@contextmanager
def running(command: list[str]) -> Iterator[None]:
    """Run a server during the ``with`` block."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            time.sleep(1)
            if process.poll() is not None:
                raise RuntimeError(f"it ended with {process.returncode}: {command}")
            yield
        finally:
            process.terminate()


@contextmanager
def serving(buckets: Path, files: Path, delay: float, rclone: str) -> Iterator[str]:
    """Serve the folders in `buckets` as buckets, and `files` at /files/; yield the address of the server."""
    s3, port = free_port(), free_port()
    with tempfile.TemporaryDirectory() as folder:
        configuration = Path(folder, "nginx.conf")
        configuration.write_text(_NGINX.format(folder=folder, s3=s3, port=port, delay=delay, files=files))
        server = [rclone, "serve", "s3", str(buckets), "--addr", f"127.0.0.1:{s3}", "--no-modtime"]
        server += ["--auth-key", "someone,something", "--vfs-read-chunk-size", "0", "--dir-cache-time", "0"]
        # Object stores keep the ETag of an object; this server would read the whole object for each HEAD request.
        server += ["--etag-hash", ""]
        with running(server), running(["nginx", "-c", str(configuration)]):
            yield f"http://127.0.0.1:{port}"


def measured(command: list[str], environment: dict[str, str]) -> tuple[float, int]:
    """Run a command; return its time in seconds, and the peak memory in MiB of all child processes so far."""
    begin = time.perf_counter()
    done = subprocess.run(command, check=False, env={**os.environ, **environment}, capture_output=True, text=True)
    took = time.perf_counter() - begin
    if done.returncode:
        raise RuntimeError(f"{command} ended with {done.returncode}: {done.stderr[-2000:]}")
    return took, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10


def take_turns(
    title: str,
    commands: dict[str, Callable[[], list[str]]],
    environment: dict[str, str],
    rounds: int,
    check: Callable[[str], None],
) -> None:
    """Run the commands in turns, check the output of each, and print a table."""
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            times[name].append(measured(command(), environment)[0])
            check(name)
    first = statistics.median(next(iter(times.values())))
    print(f"\n**{title}**\n\n| | seconds | spread | ozx is × as fast |\n|---|---|---|---|")
    for name, taken in times.items():
        middle = statistics.median(taken)
        print(f"| {name} | {middle:.2f} | {min(taken):.2f}–{max(taken):.2f} | {middle / first:.2f} |", flush=True)


def make_image(folder: Path, objects: int, size: int) -> None:
    """Write an image of random chunks, unless `folder` exists."""
    if folder.exists():
        return
    side = int(objects**0.5)
    pixels = np.random.default_rng(1).integers(0, 256, (side, side * size), "uint8")
    import zarr

    group = zarr.open_group(folder, mode="w", attributes={"ome": _attributes()})
    array = group.create_array(
        "0",
        shape=pixels.shape,
        chunks=(1, size),
        dtype="uint8",
        compressors=None,
        filters=None,
        dimension_names=["y", "x"],
    )
    array[:] = pixels


def _attributes() -> dict[str, object]:
    axes = [{"name": name, "type": "space"} for name in "yx"]
    datasets = [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [1.0, 1.0]}]}]
    return {"version": "0.5", "multiscales": [{"axes": axes, "datasets": datasets}]}


def tree_size(folder: Path) -> int:
    """Return the total size of all files below a folder, in bytes."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def bench_download(given: argparse.Namespace, address: str, words: str) -> None:
    """Compare packing from a bucket with copying the same objects."""
    image, out = given.folder / "buckets" / "bucket" / "img.zarr", given.folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    ozx, copies = out / "img.ozx", {"s5cmd": out / "s5cmd", "rclone": out / "rclone"}
    environment = {**_ENVIRONMENT, "AWS_ENDPOINT_URL": address, "NO_PROXY": "127.0.0.1"}

    def fresh(command: list[str]) -> list[str]:
        for path in (ozx, *copies.values()):
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
        return command

    def check(name: str) -> None:
        if name.startswith("ozx"):
            subprocess.run(
                [sys.executable, "-m", "ozx", "pack", str(image), str(out / "here.ozx"), "--force", "-q"], check=True
            )
            assert filecmp.cmp(ozx, out / "here.ozx", shallow=False)
        else:
            assert tree_size(copies[name.split(maxsplit=1)[0]]) == tree_size(image), name

    remote = f":s3,provider=Other,env_auth=true,endpoint='{address}':bucket/img.zarr"
    commands = {
        "ozx pack s3://": lambda: fresh(
            [sys.executable, "-m", "ozx", "pack", "s3://bucket/img.zarr", str(ozx), "-q", "--no-sync"]
        ),
        "s5cmd cp": lambda: fresh(
            [
                given.s5cmd,
                "--endpoint-url",
                address,
                "--numworkers",
                "64",
                "cp",
                "s3://bucket/img.zarr/*",
                f"{copies['s5cmd']}/",
            ],
        ),
        "rclone copy": lambda: fresh(
            [
                given.rclone,
                "copy",
                remote,
                str(copies["rclone"]),
                "--transfers",
                "64",
                "--checkers",
                "64",
                "--s3-no-head-object",
            ],
        ),
    }
    take_turns(
        f"{given.objects:,} objects of {given.size // 1000} KB from a bucket, {words}",
        commands,
        environment,
        given.rounds,
        check,
    )


def bench_upload(given: argparse.Namespace, address: str, words: str) -> None:
    """Compare writing an archive to a bucket with copying the finished archive there."""
    bucket, source = given.folder / "buckets" / "bucket", given.folder / "large.zarr"
    make_image(source, 64, given.upload // 64)
    local = given.folder / "large.ozx"
    subprocess.run(
        [sys.executable, "-m", "ozx", "pack", str(source), str(local), "--force", "-q", "--no-sync"], check=True
    )
    environment = {**_ENVIRONMENT, "AWS_ENDPOINT_URL": address, "NO_PROXY": "127.0.0.1"}
    remote = f":s3,provider=Other,env_auth=true,endpoint='{address}':bucket"

    def check(name: str) -> None:
        found = bucket / f"{name.split(maxsplit=1)[0]}.ozx"
        assert filecmp.cmp(found, local, shallow=False), name
        found.unlink()

    commands = {
        "ozx pack, to s3://": lambda: [sys.executable, "-m", "ozx", "pack", str(source), "s3://bucket/ozx.ozx", "-q"],
        "s5cmd cp": lambda: [
            given.s5cmd,
            "--endpoint-url",
            address,
            "cp",
            "--concurrency",
            "4",
            "--part-size",
            "16",
            str(local),
            "s3://bucket/s5cmd.ozx",
        ],
        "rclone copyto": lambda: [
            given.rclone,
            "copyto",
            str(local),
            f"{remote}/rclone.ozx",
            "--s3-upload-concurrency",
            "4",
            "--s3-chunk-size",
            "16Mi",
            "--s3-no-head",
            "--s3-no-check-bucket",
        ],
    }
    take_turns(f"{given.upload >> 20:,} MiB to a bucket, {words}", commands, environment, given.rounds, check)


def server_alone(address: str, folder: Path) -> None:
    """Print the rate of nginx alone, without signatures to check, and with a light client (`wrk`)."""
    done = subprocess.run(
        ["wrk", "-t1", "-c64", "-d5", f"{address}/files/chunk"], check=True, capture_output=True, text=True
    )
    found = re.search(r"Requests/sec:\s+([\d.]+)", done.stdout)
    assert found is not None
    print(
        f"\nnginx alone, by wrk: {float(found[1]):,.0f} objects of {(folder / 'chunk').stat().st_size:,} bytes a second"
    )


def main() -> None:
    """Measure downloads and uploads, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--objects", type=int, default=10_000)
    parser.add_argument("--size", type=int, default=80_000)
    parser.add_argument("--upload", type=int, default=2 << 30)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--delays", type=float, nargs="*", default=[0.0, 0.02, 0.1])
    parser.add_argument("--only", choices=["download", "upload"])
    parser.add_argument("--rclone", default="rclone", help="version 1.65 or newer, which serves S3")
    parser.add_argument("--s5cmd", default="s5cmd")
    given = parser.parse_args()
    given.folder = given.folder.resolve()
    image = given.folder / "buckets" / "bucket" / "img.zarr"
    image.parent.mkdir(parents=True, exist_ok=True)
    make_image(image, given.objects, given.size)
    (given.folder / "chunk").write_bytes(os.urandom(given.size))
    for delay in given.delays:
        words = f"{delay * 1000:.0f} ms a request" if delay else "no delay"
        with serving(given.folder / "buckets", given.folder, delay, given.rclone) as address:
            if not delay:
                server_alone(address, given.folder)
            if given.only != "upload":
                bench_download(given, address, words)
            if given.only != "download":
                bench_upload(given, address, words)


if __name__ == "__main__":
    main()
