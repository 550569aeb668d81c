"""The priors of the coefficients: normal given a scale tau of all of them and a scale lambda_j of each.

beta_j | lambda_j, tau ~ N(0, (lambda_j tau)^2), tau ~ C+(0, A); the priors differ in the distribution of lambda_j. The
kernels have their densities with lambda_j integrated out in ``kernels/gibbs/priors.mako``.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
PriorName = Literal["horseshoe", "regularized", "half_t", "lasso", "ridge"]

CONJUGATE = ("horseshoe", "half_t", "lasso", "ridge")
"""Priors whose scales the kernels ``gibbs`` and ``px`` draw from known distributions."""


@dataclass(frozen=True)
class Prior:
    """One prior.

    horseshoe: lambda_j ~ C+(0, 1) (Carvalho, Polson, Scott 2010); regularized: the same with a slab, so that the
    variance is 1 / (1 / (lambda_j tau)^2 + 1 / c^2) (Piironen, Vehtari 2017); half_t: lambda_j half-Student;
    lasso: lambda_j^2 exponential of mean 2 (Park, Casella 2008); ridge: lambda_j = 1.
    """

    name: PriorName = "horseshoe"
    local_degrees: float = 1.0  # of freedom, of half_t
    slab_scale: float = 1.0
    slab_degrees: float = 0.0  # of freedom of the slab; 0 stands for a normal

    def constants(self) -> dict[str, Any]:
        """What the templates take."""
        return {"prior": self.name, "local_degrees": self.local_degrees if self.name == "half_t" else 1.0}

    def expected_precisions(self, ratio: Floats) -> Floats:
        """About E[1 / lambda_j^2] given ratio = beta_j^2 / (2 tau^2), for the search of a mode."""
        if self.name == "ridge":
            return np.ones_like(ratio)
        if self.name == "lasso":
            return np.asarray(1.0 / np.sqrt(2.0 * ratio))
        return (1.0 / ratio) / _scaled_integral(ratio) - 1.0

    def describe(self) -> str:
        """A phrase for results and notices."""
        if self.name == "regularized":
            of_slab = f"Student's t of {self.slab_degrees:g} degrees" if self.slab_degrees else "a normal"
            return f"regularized horseshoe, the slab {of_slab} and of scale {self.slab_scale:g}"
        if self.name == "half_t":
            return f"half-Student local scales of {self.local_degrees:g} degrees of freedom"
        return {"horseshoe": "horseshoe", "lasso": "Bayesian lasso", "ridge": "normal (ridge)"}[self.name]


def _scaled_integral(x: Floats) -> Floats:
    """exp(x) E_1(x): series or continued fraction (Abramowitz, Stegun 5.1.11, 5.1.22); SciPy's is slow to import."""
    small, large = np.minimum(x, 1.0), np.maximum(x, 1.0)
    series, term = -np.euler_gamma - np.log(small), np.ones_like(small)
    for k in range(1, 20):
        term = term * -small / k
        series = series - term / k
    fraction = np.zeros_like(large)
    for k in range(80, 0, -1):
        fraction = k * k / (large + 2.0 * k + 1.0 - fraction)
    return np.where(x < 1.0, np.exp(small) * series, 1.0 / (large + 1.0 - fraction))
