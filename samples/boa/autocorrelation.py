"""A function of one's own, in Python: binary sequences of low autocorrelation.

    python samples/boa/autocorrelation.py

A sequence of spins s_i = +-1 has the autocorrelations C_k = sum over i of s_i s_(i+k), for k = 1, 2, ...; sought is the
least energy, the sum of all C_k^2. The solver knows nothing of this: it gives the function an array of m bit strings,
and gets m numbers. `autocorrelation.boa` beside this file has the same function in C, which runs on the device:

    quintet solve samples/boa/autocorrelation.boa

Source: M. J. E. Golay, "Sieves for low autocorrelation binary sequences", IEEE Transactions on Information Theory 23
(1977) 43-51.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import engine


def energy(bits: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Energies (m,) of sequences (m, n)."""
    spins = 1 - 2 * bits.astype(np.int64)
    n = bits.shape[1]
    correlations = [(spins[:, shift:] * spins[:, : n - shift]).sum(axis=1) for shift in range(1, n)]
    return (np.array(correlations) ** 2).sum(axis=0)


if __name__ == "__main__":
    problem = engine.BOA(energy, 20, minimize=True, optimum=26)
    result = engine.solve(problem)
    sequence = "".join("+-"[gene] for gene in result.solution)
    print(result.status, result.objective, sequence, f"{result.counters['evaluations']} evaluations")
