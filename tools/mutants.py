"""Faults on purpose: which tests find each of the small faults in ``tools/mutants.toml``.

``python -m tools.mutants 3 17`` puts fault 3, then fault 17, into a copy of this checkout, runs the tests named for it
there, and says whether one of them failed: ``killed``, or ``survived``. Without numbers all are run. ``--full``
takes the tests that are left out by default too, ``--clean`` runs the named tests without the fault.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_MOST_SECONDS = 300


@dataclass(frozen=True)
class Mutant:
    """A fault: ``new`` in the place of ``old``, which the file has once; ``tests``, arguments of pytest, find it."""

    file: str
    fault: str
    old: str
    new: str
    tests: str

    def places(self, root: Path = ROOT) -> int:
        """How often the file has the text that the fault replaces."""
        path = root / self.file
        return path.read_text(encoding="utf-8").count(self.old) if path.is_file() else 0

    def put(self, root: Path) -> None:
        path = root / self.file
        path.write_text(path.read_text(encoding="utf-8").replace(self.old, self.new), encoding="utf-8")


def table() -> list[Mutant]:
    """All mutants; the number of one is its place, from 1 on."""
    entries = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))["mutant"]
    return [Mutant(**entry) for entry in entries]


def copy_checkout(to: Path) -> None:
    """Copy what git knows of this checkout, as it is now."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, to / name)


def run_tests(root: Path, arguments: str, full: bool) -> tuple[str, str]:
    """Whether a test failed, and the line that says which."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *shlex.split(arguments)]
    command += ["-m", "full or not full"] if full else []
    environment = os.environ | {"PYTHONPATH": str(root)}
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        process = subprocess.Popen(
            command, cwd=root, env=environment, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            code = process.wait(_MOST_SECONDS)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        output.seek(0)
        lines = output.read().splitlines() or [""]
    if code is None:
        return "killed", f"not done after {_MOST_SECONDS} s"
    if code < 0:
        return "killed", f"the process ended with signal {-code}"
    report = next((line for line in lines if re.match(r"(FAILED|ERROR) tests", line)), lines[-1])
    return {0: "survived", 1: "killed", 2: "killed"}.get(code, f"no result (pytest ended with {code})"), report


def main(words: list[str] | None = None) -> int:
    """Run the mutants of these numbers, or all; 1 if one survived or does not apply."""
    mutants = table()
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=__doc__)
    parser.add_argument("numbers", nargs="*", type=int, metavar="NUMBER")
    parser.add_argument("--full", action="store_true", help="with the tests that are left out by default")
    parser.add_argument("--clean", action="store_true", help="run the named tests without the fault")
    options = parser.parse_args(words)
    if wrong := [number for number in options.numbers if not 0 < number <= len(mutants)]:
        parser.error(f"mutants are numbered from 1 to {len(mutants)}; got {wrong[0]}")
    bad = 0
    with tempfile.TemporaryDirectory(prefix="mutants-") as name:
        root = Path(name)
        copy_checkout(root)
        for number in options.numbers or range(1, len(mutants) + 1):
            mutant = mutants[number - 1]
            sound = (ROOT / mutant.file).read_bytes() if mutant.places() == 1 else None
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            if sound is None:
                outcome, report = "does not apply", f"{mutant.file} has the text {mutant.places()} times"
            else:
                if not options.clean:
                    mutant.put(root)
                outcome, report = run_tests(root, mutant.tests, options.full)
                (root / mutant.file).write_bytes(sound)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            bad += outcome != "killed"
            print(f"{number:2} {outcome} ({spent:.0f} s) {mutant.file}: {mutant.fault}\n     {report}", flush=True)
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
