"""What simulated annealing on a device reads: classes of genes without couplings, a schedule, and quantiles."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["QUANTILE_BITS", "annealing_arrays", "classes_of"]

QUANTILE_BITS = 8
_QUANTILES = 4096
_TEMPERATURE_BITS = 46
_COLD_SHARE = 0.05  # of the sweeps at the end, which make no individual worse
_MOST_SWEEPS = 1 << 16
_START, _START_OFFSPRING = 1.0, 0.35  # temperatures in units of the spread of gains


def annealing_arrays(
    neighbour_starts: NDArray[np.int32],
    neighbours: NDArray[np.int32],
    couplings: NDArray[Any],
    tries: int,
) -> dict[str, Any]:
    """The kernel's arguments besides the quadratic form.

    Temperatures fall linearly to zero from the standard deviation that the gain of a gene has over random individuals
    (the root mean square of it over the genes), for offspring from about a third of that.

    Parameters
    ----------
    neighbour_starts : ndarray of int32, shape (n + 1,)
        Where each gene's neighbours start.
    neighbours : ndarray of int32, shape (2 e,)
    couplings : ndarray, shape (2 e,)
        Of each gene with each of its neighbours.
    tries : int
        Attempted flips of an individual.
    """
    n = len(neighbour_starts) - 1
    order, starts = classes_of(neighbour_starts, neighbours)
    sweeps = min(_MOST_SWEEPS, max(8, tries // n))
    spread = math.sqrt(float((couplings.astype(np.float64) ** 2).sum()) / n) / 2
    shift = max(0, min(8, _TEMPERATURE_BITS - math.frexp(max(1.0, spread))[1]))
    falling = np.clip(1 - np.arange(sweeps) / (sweeps - math.ceil(_COLD_SHARE * sweeps)), 0, None)
    middles = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
    return {
        "order": order,
        "class_starts": starts,
        "classes": len(starts) - 1,
        "temperatures": np.rint(_START * spread * 2.0**shift * falling).astype(np.int64),
        "temperatures_offspring": np.rint(_START_OFFSPRING * spread * 2.0**shift * falling).astype(np.int64),
        "sweeps": sweeps,
        "quantiles": np.rint(-np.log(middles) * 2**QUANTILE_BITS).astype(np.int32),
        "shift": shift + QUANTILE_BITS,
    }


def classes_of(
    neighbour_starts: NDArray[np.int32], neighbours: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Genes by class, each class filled up with -1 to a multiple of 4, and where classes start.

    No two genes of a class are neighbours. Genes take the first class they fit into, those with most neighbours first
    (D. J. A. Welsh, M. B. Powell, The Computer Journal 10 (1967) 85-86).

    Parameters
    ----------
    neighbour_starts : ndarray of int32, shape (n + 1,)
    neighbours : ndarray of int32
        Those of gene g from ``neighbour_starts[g]`` on.

    Returns
    -------
    genes, starts : ndarray of int32
    """
    degrees = np.diff(neighbour_starts)
    colours = np.full(len(degrees), -1)
    for gene in np.argsort(-degrees, kind="stable").tolist():
        taken = set(colours[neighbours[neighbour_starts[gene] : neighbour_starts[gene + 1]]].tolist())
        colour = 0
        while colour in taken:
            colour += 1
        colours[gene] = colour
    parts = []
    for colour in range(int(colours.max()) + 1):
        genes = np.flatnonzero(colours == colour)
        parts.append(np.concatenate([genes, np.full(-len(genes) % 4, -1)]))
    starts = np.concatenate([[0], np.cumsum([len(part) for part in parts])])
    return np.concatenate(parts).astype(np.int32), starts.astype(np.int32)
