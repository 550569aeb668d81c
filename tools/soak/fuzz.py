"""Damage files at random and read them: only errors of this package, soon, and without much memory.

``python -m tools.soak.fuzz --cases 100000 [TARGET ...]``

Prints for each target how many mutants were read and refused and the longest time; what fails is kept in ``--keep``.
Exits with 1 if something else was raised, something was written to standard output, or a mutant took longer than
``--seconds``, or more memory than ``--megabytes``. The first case of each target is not damaged, and must be read.
"""

from __future__ import annotations

import contextlib
import ctypes
import io
import json
import os
import random
import shutil
import socket
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import click

import engine
from engine.errors import QuintetError
from engine.events import from_json
from engine.formats import lolib, qaplib
from engine.formats.source import limited
from engine.runs.folder import lock
from engine.runs.folder.run_folder import RunFolder, foreign_code
from engine.settings import config
from engine.solvers import problem_classes, recognize
from engine.util import trust
from tests.support.damaged_files import FILES, mutant
from tests.support.lasting import SMALL, resident_bytes, slow_device

LIMIT = 1 << 28
_OWNER = json.dumps({"host": socket.gethostname(), "pid": 4, "process_start": 5, "since": "now"}).encode()
CONFIG = b'problem = "x.txt"\nseed = 3\ndevices = ["0"]\n[knapsack]\nvariant = "rows"\n[boa]\npatience = 3\n'


@dataclass(frozen=True)
class Target:
    """What is damaged: one of the files of a folder; what reads it, one after the other; and what that may raise."""

    files: dict[str, bytes]
    reads: tuple[Callable[[Path], object], ...]
    allowed: tuple[type[Exception], ...] = (QuintetError,)


def _reader(name: str, content: str) -> Target:
    kinds = [kind for kind in problem_classes().values() if kind is not engine.PermutationProblem]
    reads = [lambda folder, kind=kind: kind.read(folder / name) for kind in kinds]
    return Target({name: content.encode()}, (lambda folder: recognize(folder / name), *reads))


def _stopped_run(home: Path) -> dict[str, bytes]:
    """The files of a run that was stopped."""
    case = SMALL["boa"]
    options = {**case.options, "max_generations": 10_000, "population": 4000}
    with engine.Engine(devices=slow_device()) as owner:
        run = owner.start(
            engine.BOA("trap", 100), run_folder=home / "r", checkpoint_interval=0.01, time_limit=0.3, **options
        )
        run.outcome()
    return {path.name: path.read_bytes() for path in (home / "r").iterdir()}


def _folder(path: Path) -> None:
    folder = RunFolder.open(path)
    for part in (folder.problem, lambda: list(folder.events()), folder.result, folder.checkpoint):
        part()


def _zip_of(files: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(f"run/{name}", content)
    return stream.getvalue()


def _unpack(folder: Path) -> None:
    from gui.runs.archives import unpack_run

    unpack_run(folder / "run.zip", folder / "runs")


def _note(folder: Path) -> None:
    from gui.runs.notes import read_note, recover_state

    recover_state(read_note(folder / "run.json"))


def _events(folder: Path) -> None:
    for line in (folder / "events.jsonl").read_bytes().split(b"\n"):
        try:
            from_json(line)
        except ValueError:
            continue


def _targets(home: Path) -> dict[str, Target]:
    found = {f"reader {name}": _reader(name, content) for name, content in FILES.items()}
    matrix = Target({"q.dat": b"2\n0 1\n1 0\n0 3\n2 0\n"}, (lambda folder: qaplib.read(folder / "q.dat"),))
    weights = Target({"w.lop": b"title\n2\n0 1\n3 0\n"}, (lambda folder: lolib.read(folder / "w.lop"),))
    run = _stopped_run(home)
    note = {
        "key": "a",
        "folder": str(home / "r"),
        "title": "t",
        "state": "running",
        "options": {"x": 1},
        "best": 3,
        "window": 4,
    }
    return {
        **found,
        "reader q.dat": matrix,
        "reader w.lop": weights,
        "folder": Target(run, (_folder,)),
        "zip": Target({"run.zip": _zip_of(run)}, (_unpack,)),
        "notes": Target({"run.json": json.dumps(note).encode()}, (_note,), (QuintetError, ValueError, OSError)),
        "events": Target({"events.jsonl": run["events.jsonl"]}, (_events,)),
        "config": Target({"q.toml": CONFIG}, (lambda folder: config.resolve(file=folder / "q.toml"),)),
        "run.lock": Target({"run.lock": _OWNER}, (_lock,)),
        "trusted.json": Target({"quintet/trusted.json": b'{"abc": {"kind": "C"}}'}, (_trusted,)),
        "snippet": Target(
            {"x.boa": b"boa snippet n=20 scale=2\nfitness = BIT(1);\n"},
            (lambda folder: foreign_code(folder / "x.boa"),),
        ),
    }


def _lock(folder: Path) -> None:
    lock.writer_of(folder)
    lock.FolderLock(folder).release()


def _trusted(folder: Path) -> None:
    os.environ["XDG_DATA_HOME"] = str(folder)
    trust.is_trusted(trust.native_code_of("x", "y"))


@click.command()
@click.argument("targets", nargs=-1)
@click.option("--cases", default=100_000, show_default=True, help="Mutants of each target.")
@click.option("--seed", default=0, show_default=True)
@click.option("--seconds", default=2.0, show_default=True, help="The longest time of one mutant, of this process.")
@click.option("--megabytes", default=1000, show_default=True, help="The most that memory may grow by.")
@click.option("--keep", type=click.Path(path_type=Path), default=Path("fuzz-failures"), show_default=True)
def main(targets: tuple[str, ...], cases: int, seed: int, seconds: float, megabytes: int, keep: Path) -> None:
    """Damage and read the TARGETS (parts of their names; all by default)."""
    failures = 0
    with tempfile.TemporaryDirectory() as home:
        known = _targets(Path(home))
        for name, target in known.items():
            if targets and not any(part in name for part in targets):
                continue
            failures += _fuzz(name, target, cases, random.Random(f"{seed} {name}"), seconds, keep, Path(home) / "work")
            if resident_bytes() > (megabytes << 20) + (1 << 29):
                click.echo(f"{name}: memory has grown to {resident_bytes() >> 20} MB")
                failures += 1
    sys.exit(failures > 0)


def _fuzz(name: str, target: Target, cases: int, rng: random.Random, seconds: float, keep: Path, work: Path) -> int:
    """Read so many mutants; how many failed."""
    outcomes, longest, failures = Counter[str](), 0.0, 0
    for number in range(cases):
        shutil.rmtree(work, ignore_errors=True)
        changed = rng.choice(sorted(target.files))
        for file, content in target.files.items():
            path = work / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(mutant(content, rng) if file == changed and number else content)
        data = (work / changed).read_bytes()
        with _no_output() as written:
            outcome, took = _outcome(target, work, seconds)
        if not number and outcome != "read":
            outcome = f"the file is {outcome} without any damage"
        if written:
            outcome = f"wrote to standard output: {written[0][:100]!r}"
        longest = max(longest, took)
        outcomes[outcome if outcome in ("read", "refused") else "FAILED"] += 1
        if outcome not in ("read", "refused"):
            failures += 1
            if failures <= 20:
                keep.mkdir(parents=True, exist_ok=True)
                (keep / f"{name.replace(' ', '-')}-{number}-{Path(changed).name}").write_bytes(data)
                click.echo(f"{name}: mutant {number} of {changed}: {outcome}")
    click.echo(f"{name}: {dict(outcomes)}, at most {longest:.2f} s")
    return failures


@contextlib.contextmanager
def _no_output() -> Iterator[list[bytes]]:
    """Catch what is written to standard output, by libraries too: it would stand among the events of a run."""
    written: list[bytes] = []
    sys.stdout.flush()
    original = os.dup(1)
    with tempfile.TemporaryFile() as caught:
        os.dup2(caught.fileno(), 1)
        try:
            yield written
        finally:
            ctypes.CDLL(None).fflush(None)
            os.dup2(original, 1)
            os.close(original)
            caught.seek(0)
            written += [content for content in [caught.read()] if content]


def _outcome(target: Target, work: Path, seconds: float) -> tuple[str, float]:
    """How reading went, ``read`` if one of the readers could; and the longest time of one."""
    outcome, longest = "refused", 0.0
    for read in target.reads:
        began = time.process_time()
        try:
            with limited(LIMIT):
                read(work)
            outcome = "read"
        except target.allowed:
            pass
        except BaseException as error:
            return f"{type(error).__name__}: {error}"[:200], longest
        took = time.process_time() - began
        longest = max(longest, took)
        if took > seconds:
            return f"{took:.1f} s", longest
    return outcome, longest


if __name__ == "__main__":
    main()
