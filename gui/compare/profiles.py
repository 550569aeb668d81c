"""How many runs are solved within a time, and within a factor of the fastest: for each set of options."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gui.compare.groups import conditions_of
from gui.runs.notes import RunNote

Floats = NDArray[np.float64]
Steps = tuple[Floats, Floats]
"""Where an empirical distribution rises, and to which share, from 0 to 1."""

SOLVED = ("optimal", "complete", "infeasible", "unbounded", "bound_proved")


def is_solved(note: RunNote) -> bool:
    """Whether the run has its answer; chains that have not mixed are complete, with a warning."""
    return note.state in SOLVED and not (note.state == "complete" and note.warnings)


def solved_within(runs: Sequence[RunNote]) -> Steps:
    """The share of the runs that were solved within a time, over that time: an ECDF; runs without answer count."""
    times = np.sort([note.seconds for note in runs if is_solved(note)]).astype(float)
    return times, np.arange(1, len(times) + 1) / max(1, len(runs))


def performance_profiles(notes: Sequence[RunNote]) -> dict[str, Steps]:
    """Performance profiles (Dolan and More 2002) of the options in which the runs differ.

    Of several runs of an instance with a seed, the fastest counts. Problems that none solves are left out. Returns
    ratios to the fastest and the share of the problems solved within each.
    """
    names = conditions_of(notes)
    seconds: dict[str, dict[tuple[str, int | None], float]] = {name: {} for name in dict.fromkeys(names)}
    for note, name in zip(notes, names, strict=True):
        problem, known = (note.problem or note.title, note.seed), seconds[name]
        taken = max(note.seconds, 1e-9) if is_solved(note) else math.inf
        known[problem] = min(taken, known.get(problem, math.inf))
    fastest: dict[tuple[str, int | None], float] = {}
    for known in seconds.values():
        for problem, taken in known.items():
            fastest[problem] = min(taken, fastest.get(problem, math.inf))
    problems = [problem for problem, taken in fastest.items() if taken < math.inf]
    profiles: dict[str, Steps] = {}
    for name, known in seconds.items():
        ratios = np.sort([known.get(problem, math.inf) / fastest[problem] for problem in problems]).astype(float)
        ratios = ratios[np.isfinite(ratios)]
        profiles[name] = ratios, np.arange(1, len(ratios) + 1) / max(1, len(problems))
    return profiles
