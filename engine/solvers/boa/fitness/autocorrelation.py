"""Binary sequences of low autocorrelation."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from ....errors import ProblemError
from .functions import Bits, Fitness, Keys, check_genes

LONGEST = 1024
"""Elements of the longest sequence: its correlations are in the local memory of a device."""

_AT_ONCE = 1 << 22

_OPTIMA = (
    *(1, 1, 2, 2, 7, 3, 8, 12, 13, 5, 10, 6, 19, 15, 24, 32, 25, 29, 26, 26, 39, 47, 36, 36, 45, 37, 50, 62, 59, 67),
    *(64, 64, 65, 73, 82, 86, 87, 99, 108, 108, 101, 109, 122, 118, 131, 135, 140, 136, 153, 153, 166, 170, 175, 171),
    *(192, 188, 197, 205, 218, 226, 235, 207, 208, 240, 257),
)
"""Least energies of 2 to 66 elements.

Source: T. Packebusch, S. Mertens, "Low autocorrelation binary sequences", Journal of Physics A 49 (2016) 165001.
"""


class Autocorrelation(Fitness):
    """The energy of a sequence of n elements s = +1 and -1, to be minimised: the sum of C_k^2 over k = 1 .. n - 1.

    C_k is the sum of s_i s_(i+k); gene i is 1 where s_i = +1. Up to 66 elements the least energy is known.

    Source: M. J. E. Golay, "Sieves for low autocorrelation binary sequences", IEEE Transactions on Information Theory
    23 (1977) 43-51.
    """

    text = "LABS"
    minimize = True
    code = """for (i32 shift = 1; shift < N; ++shift) {
    i32 correlation = 0;
    for (i32 i = 0; i + shift < N; ++i)
        correlation += 1 - 2 * (BIT(i) ^ BIT(i + shift));
    fitness += correlation * correlation;
}"""

    def __init__(self, n: int) -> None:
        if isinstance(n, (int, np.integer)) and not 2 <= n <= LONGEST:
            raise ProblemError(f"a sequence must have from 2 to {LONGEST} elements; got {n}")
        self.n = check_genes(n)
        self.best_key = -_OPTIMA[n - 2] if n - 2 < len(_OPTIMA) else None

    @override
    def keys(self, bits: Bits) -> Keys:
        """By fast Fourier transforms, whose rounding is far below a half."""
        found = np.empty(len(bits), np.int64)
        together = max(1, _AT_ONCE // (4 * self.n))
        for first in range(0, len(bits), together):
            spectrum = np.fft.rfft(2.0 * bits[first : first + together] - 1, 2 * self.n, axis=1)
            sums = np.rint(np.fft.irfft(np.abs(spectrum) ** 2, 2 * self.n, axis=1)[:, 1 : self.n]).astype(np.int64)
            found[first : first + together] = -(sums**2).sum(axis=1)
        return found

    @override
    def to_arrays(self) -> dict[str, NDArray[Any]]:
        return {"autocorrelation": np.array(self.text), "numbers": np.array([self.n], np.int64)}
