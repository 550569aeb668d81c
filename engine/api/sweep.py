"""Sweeps: several problems x seeds x options, described by a TOML file.

::

    problems = ["instances/ta02*.txt"]     # files or patterns, relative to this file
    seeds = "1-5"                          # a number of seeds from 0, a list, or ranges
    time_limit = 60                        # any setting of a run

    [options]
    strategy = "ring"                      # one value for all runs
    bound = ["one_machine", "mixed"]       # a list: one run for each value; several lists: every combination

An option whose value is a list itself is given as a list of lists.
"""

import glob
import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import InputError, nearest
from ..util.files import read_toml
from ..util.text import number_text

_MOST_RUNS = 100_000
_KEYS = ("problems", "seeds", "options")
_RANGE = re.compile(r"(\d+)(?:-(\d+))?")


@dataclass(frozen=True)
class SweepRun:
    index: int  # its place, from 1
    problem: Path
    seed: int
    options: Mapping[str, Any]  # all of the run's
    varied: Mapping[str, Any]  # those of them that differ between the runs

    @property
    def title(self) -> str:
        parts = [self.problem.stem, *(f"{name}={value}" for name, value in self.varied.items()), f"seed {self.seed}"]
        return " ".join(parts)

    @property
    def folder_name(self) -> str:
        """A name for its run folder: unique in the sweep, and the same in each reading of the file."""
        word = re.sub(r"[^\w.=-]+", "-", self.title).strip("-.")[:80]
        return f"{self.index:05d}-{word}"


@dataclass(frozen=True)
class Sweep:
    """Problems, seeds and options of which every combination is run."""

    problems: tuple[Path, ...]
    seeds: tuple[int, ...] = (0,)
    options: Mapping[str, Sequence[Any]] = field(default_factory=dict)  # for each the values it takes, one or more
    settings: Mapping[str, Any] = field(default_factory=dict)  # of every run, such as time_limit
    reading: Mapping[str, Any] = field(default_factory=dict)  # fields of the read_options of their class; not in files

    def __post_init__(self) -> None:
        if not self.problems:
            raise InputError("a sweep needs at least one problem")
        if not self.seeds:
            raise InputError("a sweep needs at least one seed")
        if empty := [name for name, values in self.options.items() if not len(values)]:
            raise InputError(f"the option {empty[0]} has no value in the sweep")
        if len(self) > _MOST_RUNS:
            raise InputError(f"the sweep has {number_text(len(self), grouped=True)} runs; at most 100 000 are allowed")

    def __len__(self) -> int:
        count = len(self.problems) * len(self.seeds)
        for values in self.options.values():
            count *= len(values)
        return count

    def runs(self) -> list[SweepRun]:
        """Every run: the problems in order, for each the combinations of options, for each of these the seeds."""
        names = list(self.options)
        varied = [name for name in names if len(self.options[name]) > 1]
        combinations = [dict(zip(names, values, strict=True)) for values in itertools.product(*self.options.values())]
        every = itertools.product(self.problems, combinations, self.seeds)
        return [
            SweepRun(index, problem, seed, options, {name: options[name] for name in varied})
            for index, (problem, options, seed) in enumerate(every, start=1)
        ]


def is_sweep(path: Path) -> bool:
    """Whether a file describes a sweep: TOML with the key ``problems``."""
    if path.suffix.lower() != ".toml":
        return False
    try:
        return path.is_file() and "problems" in read_toml(path, InputError)[0]
    except (OSError, InputError):
        return False


def read_sweep(path: str | Path, settings: Sequence[str] = ()) -> Sweep:
    """Read the description of a sweep, which may have these settings besides problems, seeds and options."""
    path = Path(path)
    content, _ = read_toml(path, InputError)
    known = (*_KEYS, *settings)
    for name in content:
        if name not in known:
            raise InputError(f"{path}: unknown key '{name}'{nearest(name, known)}")
    options = content.get("options", {})
    if not isinstance(options, dict):
        raise InputError(f"{path}: options must be a table")
    try:
        return Sweep(
            tuple(_problems(content.get("problems"), path)),
            tuple(parse_seeds(content.get("seeds", [0]))),
            {name: value if isinstance(value, list) else [value] for name, value in options.items()},
            {name: value for name, value in content.items() if name not in _KEYS},
        )
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def _problems(given: Any, path: Path) -> list[Path]:
    patterns = [given] if isinstance(given, str) else given
    if not isinstance(patterns, list) or not all(isinstance(entry, str) for entry in patterns):
        raise InputError("problems must be a list of files or patterns")
    found: list[Path] = []
    for pattern in patterns:
        whole, names = path.parent / pattern, sorted(glob.glob(pattern, root_dir=path.parent))
        matching = [whole] if whole.exists() else [path.parent / name for name in names]
        if not matching:
            raise InputError(f"no file matches {pattern!r}")
        found += matching
    return list(dict.fromkeys(found))


def parse_seeds(given: Any) -> list[int]:
    """Seeds from a number of them (from 0), a list of seeds, or ranges such as ``"1-5, 9"``."""
    if isinstance(given, int) and not isinstance(given, bool):
        given = list(range(min(given, _MOST_RUNS + 1)))
    if isinstance(given, str):
        ranges = [_RANGE.fullmatch(part.strip()) for part in given.split(",") if part.strip()]
        bounds = [(int(found[1]), int(found[2] or found[1])) for found in ranges if found is not None]
        if None in ranges or not all(low <= high for low, high in bounds):
            raise InputError(f'seeds must be a number, a list, or ranges such as "1-5, 9"; got {given!r}')
        if sum(high - low + 1 for low, high in bounds) > _MOST_RUNS:
            raise InputError("a sweep has at most 100 000 seeds")
        given = [seed for low, high in bounds for seed in range(low, high + 1)]
    if not isinstance(given, list) or not all(isinstance(seed, int) and not isinstance(seed, bool) for seed in given):
        raise InputError('seeds must be a number, a list of integers, or ranges such as "1-5, 9"')
    return list(dict.fromkeys(given))
