"""Fuzz ozx: ``python fuzz/fuzz.py [TARGET …] [--seconds 20] [--keep]`` (needs atheris, extra ``fuzz``).

Each target begins with the archives and documents of fuzz/seeds.py, and with its folder of fuzz/corpus/. ``--keep``
adds inputs that reached new code to this folder. An input that makes a target fail is written to fuzz/findings/;
``python fuzz/fuzz.py TARGET --file FILE`` runs the target with this input again. With the same ``--seed`` and
``--runs``, the same code gets nearly the same inputs in every run.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests"), str(HERE.parent / "tests" / "hostile")]

from mutations import mutate_bytes, mutate_document

NAMES = ("directory", "local_headers", "shard_index", "zarr_json", "verbs")
LONGEST = 4096


def mutate(data: bytes, longest: int, seed: int) -> bytes:
    """Return changed data: half of the time by libFuzzer, else with changed JSON values or, if it is no JSON, bytes."""
    import atheris

    rng = random.Random(seed)
    if rng.random() < 0.5:
        return atheris.Mutate(data, longest)
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return mutate_bytes(data, rng)[:longest]
    return json.dumps(mutate_document(document, rng)).encode()[:longest]


def fuzz(target: str, arguments: list[str]) -> None:
    """Fuzz one target in this process; libFuzzer ends the process."""
    import atheris

    with atheris.instrument_imports(include=["ozx"]):
        from targets import TARGETS, load_verbs

        if target == "verbs":
            load_verbs()
    atheris.Setup([sys.argv[0], *arguments], TARGETS[target], custom_mutator=mutate)
    atheris.Fuzz()


def run(target: str, seconds: int, runs: int, seed: int, *, keep: bool) -> int:
    """Fuzz a target in another process for `seconds`, or for `runs` inputs unless this is -1; return the exit code."""
    from seeds import seeds

    findings, corpus = HERE / "findings", HERE / "corpus" / target
    for folder in (findings, corpus):
        folder.mkdir(parents=True, exist_ok=True)
    # -reload=0: libFuzzer reads the folders only once, so that a run does not depend on time.
    patience = 60 if target == "verbs" else 10  # a verb imports modules at its first use
    limits = [f"-max_len={LONGEST}", "-reload=0", f"-timeout={patience}", "-rss_limit_mb=2048", "-verbosity=0"]
    with tempfile.TemporaryDirectory(prefix="ozx-fuzz-") as temporary:
        found, begins = Path(temporary) / "found", Path(temporary) / "begins"
        found.mkdir()
        # A list of files has a fixed order; the order of files in a folder depends on the system.
        begins.write_text(",".join(map(str, [*_written_seeds(target, Path(temporary)), *sorted(corpus.iterdir())])))
        here = [sys.executable, __file__, target, "--", *limits]
        options = [f"-max_total_time={seconds}", f"-runs={runs}", f"-seed={seed}", f"-seed_inputs=@{begins}"]
        options += [f"-artifact_prefix={findings}/{target}-", "-print_final_stats=1"]
        # With a fixed hash seed, sets of strings have the same order in every run, too.
        environment = os.environ | ({"PYTHONHASHSEED": str(seed)} if seed else {})
        code = subprocess.run([*here, *options, found], env=environment, check=False).returncode
        if keep and not code:
            from keeping import keep_smallest
            from targets import TARGETS

            candidates = [path.read_bytes() for path in found.iterdir()]
            kept = keep_smallest(TARGETS[target], seeds()[target].values(), candidates, corpus)
            print(f"{target}: the corpus holds {kept} files")
    return code


def _written_seeds(target: str, folder: Path) -> list[Path]:
    from seeds import seeds

    paths = []
    for number, (_, data) in enumerate(sorted(seeds()[target].items())):
        paths.append(folder / f"seed-{number}")
        paths[-1].write_bytes(data)
    return paths


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("targets", nargs="*", choices=[*NAMES, []], help="the targets; all by default")
    parser.add_argument("--seconds", type=int, default=20, help="seconds for each target")
    parser.add_argument(
        "--runs", type=int, default=-1, help="end a target after this number of inputs (verbs: a tenth), or --seconds"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the random numbers; 0: another seed in every run")
    parser.add_argument("--keep", action="store_true", help="add inputs that reached new code to the corpus")
    parser.add_argument("--file", help="only run one target with the bytes of this file")
    options = parser.parse_args()
    if options.file:
        from targets import TARGETS

        TARGETS[options.targets[0]](Path(options.file).read_bytes())
        return 0
    codes = []
    for target in options.targets or NAMES:
        # An input of `verbs` takes about ten times as long as other inputs: a command runs on files made for it.
        runs = options.runs // 10 if target == "verbs" and options.runs > 0 else options.runs
        codes.append(run(target, options.seconds, runs, options.seed, keep=options.keep))
    return int(any(codes))  # the code is negative if a signal ended the target


if __name__ == "__main__":
    if "--" in sys.argv:
        fuzz(sys.argv[1], sys.argv[sys.argv.index("--") + 1 :])
    else:
        sys.exit(main())
