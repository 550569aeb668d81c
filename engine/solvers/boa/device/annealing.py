"""What simulated annealing on a device reads: classes of genes without couplings, a schedule, and quantiles."""

import itertools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

QUANTILE_BITS = 8
_QUANTILES = 4096
_TEMPERATURE_BITS = 46
_COLD_SHARE = 0.05  # of the sweeps at the end, which make no individual worse
_MOST_SWEEPS = 1 << 16
_STARTS = 0.35, 0.2  # temperatures of random individuals and of offspring in units of the spread of gains
_STARTS_BEFORE_ROUNDS, _FIRST_SHARE = (1.0, 0.35), 0.25  # the same, and the share of the sweeps before rounds
_ROUND = 20  # sweeps
FEW_NEIGHBOURS = 6  # of a gene, on average, up to which rounds came further than one long fall
_COOLEST, _WARMEST = 0.15, 0.5  # where rounds start
_GOLDEN = (math.sqrt(5) - 1) / 2


def annealing_arrays(
    neighbour_starts: NDArray[np.int32],
    neighbours: NDArray[np.int32],
    couplings: NDArray[Any],
    tries: int,
    in_rounds: bool = False,
) -> dict[str, Any]:
    """The kernel's arguments besides the quadratic form, and where rounds end; for ``tries`` flips of an individual.

    Temperatures fall linearly to zero. Rounds, where genes have few neighbours, are short falls from lower
    temperatures in the last three quarters of the sweeps.
    """
    n = len(neighbour_starts) - 1
    order, starts = classes_of(neighbour_starts, neighbours)
    sweeps = min(_MOST_SWEEPS, max(8, tries // n))
    spread = math.sqrt(float((couplings.astype(np.float64) ** 2).sum()) / n) / 2
    shift = max(0, min(8, _TEMPERATURE_BITS - math.frexp(max(1.0, spread))[1]))
    in_rounds = in_rounds and len(neighbours) <= FEW_NEIGHBOURS * n
    rounds = int((1 - _FIRST_SHARE) * sweeps) // _ROUND if in_rounds else 0
    first = sweeps - _ROUND * rounds
    starts_of_first = _STARTS_BEFORE_ROUNDS if rounds else _STARTS
    falling = np.clip(1 - np.arange(first) / (first - math.ceil(_COLD_SHARE * first)), 0, None)
    starts_at = _COOLEST + (_WARMEST - _COOLEST) * (np.arange(1, rounds + 1) * _GOLDEN % 1)
    short = np.clip(1 - np.arange(_ROUND) / (0.9 * _ROUND), 0, None)
    later = np.outer(starts_at, short).ravel()
    middles = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
    return {
        "order": order,
        "class_starts": starts,
        "classes": len(starts) - 1,
        **{
            name: np.rint(spread * 2.0**shift * np.concatenate([start * falling, later])).astype(np.int64)
            for name, start in zip(("temperatures", "temperatures_offspring"), starts_of_first, strict=True)
        },
        "sweeps": sweeps,
        "ends": [first + _ROUND * done for done in range(rounds + 1)],
        "quantiles": np.rint(-np.log(middles) * 2**QUANTILE_BITS).astype(np.int32),
        "shift": shift + QUANTILE_BITS,
    }


def classes_of(
    neighbour_starts: NDArray[np.int32], neighbours: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Genes by class, in which no two are neighbours, filled up with -1 to a multiple of 4; and where classes start.

    Those with most neighbours first (D. J. A. Welsh, M. B. Powell, The Computer Journal 10 (1967) 85-86).
    """
    degrees = np.diff(neighbour_starts)
    colours = np.full(len(degrees), -1)
    for gene in np.argsort(-degrees, kind="stable").tolist():
        taken = set(colours[neighbours[neighbour_starts[gene] : neighbour_starts[gene + 1]]].tolist())
        colours[gene] = next(colour for colour in itertools.count() if colour not in taken)
    parts = []
    for colour in range(int(colours.max()) + 1):
        genes = np.flatnonzero(colours == colour)
        parts.append(np.concatenate([genes, np.full(-len(genes) % 4, -1)]))
    starts = np.concatenate([[0], np.cumsum([len(part) for part in parts])])
    return np.concatenate(parts).astype(np.int32), starts.astype(np.int32)
