"""The kernels ``gibbs`` and ``px`` in NumPy and SciPy: what the tests and benchmarks compare the devices with.

:class:`ReferenceChain` draws the same variates as the devices, from the same counters, in float64; its chain is theirs
up to rounding. :class:`BlasSampler` is the sampler as one would write it for speed with NumPy's generator and BLAS.
"""

import numpy as np
from numpy.typing import NDArray

from ..numerics.philox import uniform_float32, uniform_float64_wide, uniform_words

Floats = NDArray[np.float64]

STREAM_LATENT, STREAM_SCALES, STREAM_NOISE = 0, 1, 4
CROSSOVER = 0.469839


def draw_positive_normals(mean: Floats, seed: int, stream: int, step: int, chain: int = 0) -> Floats:
    """Normals about ``mean`` (N,), given that they are positive: the kernels' draws of indices 0, 1, ... in float64."""
    value = np.zeros(len(mean))
    open_ = np.arange(len(mean))
    for attempt in range(64):
        if not len(open_):
            break
        words = uniform_words(seed, stream, step, 0, len(mean), chain=chain, attempt=attempt)[open_]
        u = uniform_float32(words).astype(np.float64)
        m = mean[open_]
        high = m > CROSSOVER
        alpha = 0.5 * (np.sqrt(m * m + 4.0) - m)
        for first in (0, 2):
            radius, turn = np.sqrt(-2.0 * np.log(u[:, 0])), 2.0 * np.pi * u[:, 1]
            normal = m + radius * (np.cos(turn) if first == 0 else np.sin(turn))
            exponential = -np.log(u[:, first]) / alpha
            fits = u[:, first + 1] < np.exp(-0.5 * (exponential - 1.0 / alpha) ** 2)
            proposal = np.where(high, normal, exponential)
            taken = np.where(high, normal > 0.0, fits) & (value[open_] == 0.0)
            value[open_[taken]] = proposal[taken]
        open_ = open_[value[open_] == 0.0]
    return value


def draw_gamma(shape: float, seed: int, stream: int, step: int, chain: int = 0) -> float:
    """Gamma of rate 1 and of a shape above 1/2: Cheng's GB, as the kernels draw index 0."""
    a, b = 1.0 / np.sqrt(2.0 * shape - 1.0), shape - np.log(4.0)
    c = shape + 1.0 / a
    for attempt in range(256):
        words = uniform_words(seed, stream, step, 0, 1, chain=chain, attempt=attempt)
        u = float(uniform_float64_wide(words[:, 0], words[:, 1])[0])
        w = float(uniform_float64_wide(words[:, 2], words[:, 3])[0])
        v = a * np.log(u / (1.0 - u))
        x = shape * np.exp(v)
        if b + c * v - x >= np.log(u * u * w):
            break
    return float(x)


class ReferenceChain:
    """One chain of the kernels ``gibbs`` or ``px``.

    ``X``, shape (N, q): the design as the devices have it, rows multiplied by their y = +-1; ``first``: the first
    column inside the horseshoe; those before have a normal prior of precision ``first_prior``; ``seed``, ``chain``:
    part of the key of every draw; ``first_prior``, ``tau_scale``: precision of the columns before ``first``, and scale
    of tau's prior; ``expanded``: whether it is the kernel ``px``.
    """

    def __init__(
        self,
        X: Floats,
        first: int,
        seed: int,
        *,
        first_prior: float = 0.01,
        tau_scale: float = 1.0,
        expanded: bool = False,
        chain: int = 0,
    ) -> None:
        self.X = np.asarray(X, np.float64)
        self.gram = self.X.T @ self.X
        self.first, self.seed, self.chain, self.expanded = first, seed, chain, expanded
        self.first_prior, self.inverse_width = first_prior, tau_scale**-2
        q = X.shape[1]
        self.beta, self.local, self.nu = np.zeros(q), np.ones(q), np.ones(q)
        self.tau, self.xi = 1.0, 1.0

    def step(self, number: int) -> None:
        """One iteration."""
        for part in (self._scales, self._tau, self._nu_and_xi, self._coefficients):
            part(number)

    def _words(self, stream: int, step: int, count: int) -> NDArray[np.uint32]:
        return uniform_words(self.seed, stream, step, 0, count, chain=self.chain)

    def _scales(self, step: int) -> None:
        words = self._words(STREAM_SCALES, step, len(self.beta))
        rate = self.nu + 0.5 * self.tau * self.beta**2
        self.local = -np.log(uniform_float64_wide(words[:, 0], words[:, 1])) / rate

    def _tau(self, step: int) -> None:
        inside = slice(self.first, None)
        rate = self.xi + 0.5 * float(np.sum(self.local[inside] * self.beta[inside] ** 2))
        shape = 0.5 * (len(self.beta) - self.first + 1)
        self.tau = draw_gamma(shape, self.seed, STREAM_SCALES + 1, step, self.chain) / rate

    def _nu_and_xi(self, step: int) -> None:
        words = self._words(STREAM_SCALES, step, len(self.beta))
        self.nu = -np.log(uniform_float64_wide(words[:, 2], words[:, 3])) / (1.0 + self.local)
        words = self._words(STREAM_SCALES + 2, step, 1)
        self.xi = float(-np.log(uniform_float64_wide(words[:, 0], words[:, 1]))[0]) / (self.inverse_width + self.tau)

    def _coefficients(self, step: int) -> None:
        from scipy.linalg import solve_triangular

        z = draw_positive_normals(self.X @ self.beta, self.seed, STREAM_LATENT, step, self.chain)
        prior = self.tau * self.local
        prior[: self.first] = self.first_prior
        scale = 1.0 / np.sqrt(np.diag(self.gram) + prior)
        matrix = self.gram * scale * scale[:, None]
        np.fill_diagonal(matrix, 1.0)
        factor = np.linalg.cholesky(matrix)
        w = solve_triangular(factor, scale * (self.X.T @ z), lower=True)
        g = 1.0
        rest = z @ z - w @ w
        if self.expanded and rest > 1e-4 * (z @ z):
            drawn = draw_gamma(0.5 * len(z), self.seed, STREAM_NOISE + 1, step, self.chain)
            g = np.sqrt(drawn / (0.5 * rest))
        words = self._words(STREAM_NOISE, step, len(self.beta))
        radius = np.sqrt(-2.0 * np.log(uniform_float64_wide(words[:, 0], words[:, 1])))
        normals = radius * np.cos(2.0 * np.pi * uniform_float64_wide(words[:, 2], words[:, 3]))
        self.beta = scale * solve_triangular(factor, g * w + normals, lower=True, trans=1)


class BlasSampler:
    """The kernel ``gibbs`` as NumPy does it fastest: float32 rows X (N, q) times y, BLAS, latents by inversion."""

    def __init__(self, X: NDArray[np.float32], seed: int, gram: Floats | None = None) -> None:
        self.X = np.ascontiguousarray(X, np.float32)
        self.gram = self.X.T.astype(np.float64) @ self.X.astype(np.float64) if gram is None else gram
        self.random = np.random.default_rng(seed)
        q = X.shape[1]
        self.beta, self.local, self.nu = np.zeros(q), np.ones(q), np.ones(q)
        self.tau, self.xi = 1.0, 1.0

    def step(self) -> None:
        """One iteration."""
        from scipy.linalg import cholesky, solve_triangular
        from scipy.special import ndtr, ndtri

        random, q = self.random, len(self.beta)
        mean = self.X @ self.beta.astype(np.float32)
        z = mean - ndtri(np.maximum(random.random(len(mean), np.float32), 1e-30) * ndtr(mean))
        self.local = random.exponential(size=q) / (self.nu + 0.5 * self.tau * self.beta**2)
        self.tau = random.gamma(0.5 * (q + 1)) / (self.xi + 0.5 * float(self.local @ self.beta**2))
        self.nu = random.exponential(size=q) / (1.0 + self.local)
        self.xi = random.exponential() / (1.0 + self.tau)
        matrix = self.gram.copy()
        matrix[np.diag_indices(q)] += self.tau * self.local
        factor = cholesky(matrix, lower=True, overwrite_a=True, check_finite=False)
        w = solve_triangular(factor, (z @ self.X).astype(np.float64), lower=True, check_finite=False)
        noise = random.standard_normal(q)
        self.beta = solve_triangular(factor, w + noise, lower=True, trans=1, check_finite=False)
