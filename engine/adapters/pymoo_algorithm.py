"""The search of black boxes as an algorithm of pymoo; imported when it is first asked for, as that is optional."""

from typing import Any

from pymoo.core.algorithm import Algorithm
from pymoo.core.population import Population
from pymoo.util.display.single import SingleObjectiveOutput
from pymoo.util.optimum import filter_optimum

from ..errors import ProblemError
from ..solvers.boa.pyramid import BitSearch


class PymooAlgorithm(Algorithm):  # type: ignore[misc]
    """Minimises a problem of pymoo with one objective and bits as variables, by :class:`engine.BitSearch`.

    ``minimize`` of pymoo passes seed and termination; the variables are booleans, or whole numbers from 0 to 1.

    Parameters
    ----------
    parallel : int
        Strings that are wanted at once, as for so many processes.
    **arguments
        Of pymoo's ``Algorithm``.

    Raises
    ------
    ProblemError
        If the problem has several objectives or constraints.

    Examples
    --------
    >>> import engine, numpy as np
    >>> from pymoo.optimize import minimize
    >>> from pymoo.problems.functional import FunctionalProblem
    >>> problem = FunctionalProblem(20, lambda bits: bits.sum(), xl=0, xu=1, vtype=bool)
    >>> float(minimize(problem, engine.PymooAlgorithm(), ("n_evals", 200), seed=1).F[0])
    0.0
    """

    opt: Any  # of the base: the best so far

    def __init__(self, parallel: int = 1, **arguments: Any) -> None:
        super().__init__(**{"output": SingleObjectiveOutput()} | arguments)
        self._parallel = parallel

    def _setup(self, problem: Any, **_: Any) -> None:
        if problem.n_obj != 1 or problem.n_constr:
            raise ProblemError(f"{problem.name()} must have one objective and no constraints")
        self._search = BitSearch(problem.n_var, minimize=True, seed=self.seed or 0, parallel=self._parallel)

    def _infill(self) -> Any:
        strings = self._search.ask()
        if not len(strings):  # all have been asked for
            self.termination.terminate()
            assert self._search.best is not None
            strings = self._search.best[None]
        return Population.new("X", strings.astype(bool if self.problem.vtype is bool else int))

    def _initialize_infill(self) -> Any:
        return self._infill()

    def _advance(self, infills: Any = None, **_: Any) -> None:
        self._search.tell(infills.get("X"), infills.get("F")[:, 0])
        self.pop = infills

    def _initialize_advance(self, infills: Any = None, **_: Any) -> None:
        self._advance(infills)

    def _set_optimum(self) -> None:
        known = self.pop if self.opt is None else Population.merge(self.opt, self.pop)
        self.opt = filter_optimum(known, least_infeasible=True)
        if not isinstance(self.opt, Population):
            self.opt = Population.create(self.opt)
