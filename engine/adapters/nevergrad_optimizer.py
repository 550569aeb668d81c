"""The search of black boxes as an optimizer of nevergrad; imported when it is first asked for, as that is optional."""

from typing import Any

import numpy as np
from nevergrad.optimization.base import Optimizer

from ..errors import ProblemError
from ..solvers.boa.pyramid import BitSearch


class NevergradOptimizer(Optimizer):  # type: ignore[misc]
    """Minimises a function of bits with :class:`engine.BitSearch`, asked and told as nevergrad's optimizers are.

    Parameters
    ----------
    parametrization : nevergrad.p.Parameter
        Its value holds 0 and 1 only: ``ng.p.Choice([0, 1], repetitions=n)``, ``ng.p.TransitionChoice``, or an ``Array``
        of shape (n,) with bounds 0 and 1 and integer casting. Its random state seeds the search.
    budget : int, optional
        Evaluations of ``minimize``.
    num_workers : int
        Evaluations at once.

    Raises
    ------
    ProblemError
        If the value is not n bits.

    Examples
    --------
    >>> import engine, nevergrad as ng
    >>> optimizer = engine.NevergradOptimizer(ng.p.Choice([0, 1], repetitions=20), budget=200)
    >>> sum(optimizer.minimize(lambda bits: sum(bits)).value)
    0
    """

    def __init__(self, parametrization: Any, budget: int | None = None, num_workers: int = 1) -> None:
        super().__init__(parametrization, budget=budget, num_workers=num_workers)
        self._is_array = isinstance(self.parametrization.value, np.ndarray)
        bits = self._bits(self.parametrization.value)
        self._bits(self.parametrization.sample().value)  # of continuous variables the first value may be 0
        seed = int(self.parametrization.random_state.randint(1 << 31))
        self._search = BitSearch(bits.shape[1], minimize=True, seed=seed, parallel=self.num_workers)

    @staticmethod
    def _bits(value: Any) -> Any:
        try:
            bits = np.asarray(value, np.float64)
        except (TypeError, ValueError):
            bits = np.empty(0)
        if bits.ndim != 1 or not bits.size or not np.isin(bits, (0, 1)).all():
            raise ProblemError(
                f"the parametrization must be of bits, such as Choice([0, 1], repetitions=n); got {value!r}"
            )
        return bits[None]

    def _internal_ask_candidate(self) -> Any:
        strings = self._search.ask(1)
        if not len(strings):  # all have been asked for
            return self.provide_recommendation()
        value = strings[0].astype(float) if self._is_array else tuple(strings[0].tolist())
        return self.parametrization.spawn_child(new_value=value)

    def _internal_tell_candidate(self, candidate: Any, loss: float) -> None:
        self._search.tell(self._bits(candidate.value), [loss])
