"""How the best value of recorded runs improved: bands over seeds, and times to a target."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.events import Finished, Incumbent, Started, from_json
from engine.util.files import open_regular
from gui.runs.notes import RunNote

Floats = NDArray[np.float64]
_POINTS = 200


@dataclass(frozen=True)
class Progression:
    """One run: when it found better objectives, and which; ``sign`` is -1 where they are maximised, else 1."""

    note: RunNote
    times: Floats
    values: Floats
    sign: int

    def at(self, grid: Floats) -> Floats:
        """The best value at each time, NaN before the first."""
        place = np.searchsorted(self.times, grid, side="right") - 1
        return np.where(place < 0, np.nan, np.append(self.values, np.nan)[place])


def read_progressions(notes: Sequence[RunNote]) -> list[Progression]:
    """Those of the runs that have recorded events with objectives; other lines than these are not parsed."""
    found = []
    for note in notes:
        times, values, sign = [], [], 1
        with contextlib.suppress(OSError), open_regular(note.path / "events.jsonl") as stream:
            for line in stream:
                if any(word in line[:200] for word in (b'"incumbent"', b'"finished"', b'"started"')):
                    with contextlib.suppress(ValueError):
                        event = from_json(line)
                        if isinstance(event, Started):
                            sign = -1 if event.sense == "maximize" else 1
                        elif isinstance(event, Incumbent | Finished) and event.objective is not None:
                            times.append(event.time)
                            values.append(float(event.objective))
        if values and np.isfinite(values).all():
            best = sign * np.minimum.accumulate(sign * np.array(values))
            found.append(Progression(note, np.maximum.accumulate(np.array(times)), best, sign))
    return found


def distances(progressions: Sequence[Progression]) -> list[Progression]:
    """The same as relative distances to the best value that any of the runs has found of its instance, in percent."""
    best: dict[str, float] = {}
    for one in progressions:
        reached, known = float(one.values[-1]), best.get(one.note.problem)
        best[one.note.problem] = reached if known is None else one.sign * min(one.sign * known, one.sign * reached)
    made = []
    for one in progressions:
        known = best[one.note.problem]
        made.append(Progression(one.note, one.times, 100 * abs(one.values - known) / max(1.0, abs(known)), 1))
    return made


def bands(progressions: Sequence[Progression]) -> tuple[Floats, Floats, Floats, Floats]:
    """Times, quartile, median and quartile of the runs' best values; a run without one counts as the worst."""
    begin = float(np.quantile([one.times[0] for one in progressions], 0.75, method="inverted_cdf"))
    end = max(begin, *(max(one.note.seconds, float(one.times[-1])) for one in progressions))
    grid = np.linspace(begin, end, _POINTS)
    signed = np.array([one.sign * one.at(grid) for one in progressions])
    signed[np.isnan(signed)] = np.inf
    quartiles = progressions[0].sign * np.quantile(signed, (0.25, 0.5, 0.75), axis=0, method="inverted_cdf")
    return grid, quartiles.min(axis=0), quartiles[1], quartiles.max(axis=0)


def times_to(target: float, progressions: Sequence[Progression], runs: int) -> tuple[Floats, Floats]:
    """The distribution of the time to a target (Aiex, Resende and Ribeiro 2007): times, and shares of all ``runs``."""
    reached = [one.times[one.values <= target] for one in progressions]
    times = np.sort([float(times[0]) for times in reached if len(times)])
    return times, np.arange(1, len(times) + 1) / max(1, runs)
