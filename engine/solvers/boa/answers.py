"""The results of problems by their own names: what their solutions mean."""

import importlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.result import Result, missing_package


def _labels(result: Result) -> list[Any]:
    """What the genes stand for: their numbers, or the names that the problem gave."""
    labels = result.arrays.get("labels")
    if labels is not None:
        return list(labels.tolist())
    return list(range(0 if result.solution is None else len(result.solution)))


class Cut(Result):
    """The result of :class:`engine.MaxCut`; ``solution`` has the side, 0 or 1, of each vertex."""

    @property
    def sides(self) -> tuple[list[Any], list[Any]]:
        """The vertices of both sides, by number, or by the name that they have in the graph."""
        sides: tuple[list[Any], list[Any]] = [], []
        for label, side in zip(_labels(self), () if self.solution is None else self.solution, strict=False):
            sides[int(side)].append(label)
        return sides


def _signs(result: Result) -> NDArray[np.int8] | None:
    return None if result.solution is None else 2 * result.solution.astype(np.int8) - 1


class Spins(Result):
    """The result of :class:`engine.SpinGlass`; ``solution`` has a 1 for each spin that points up."""

    @property
    def spins(self) -> NDArray[np.int8] | None:
        """+1 and -1, shape (n,)."""
        return _signs(self)

    @property
    def energy(self) -> float | int | None:
        """Minus the objective."""
        return None if self.objective is None else -self.objective


class Sequence(Result):
    """The result of :class:`engine.LABS`; ``objective`` is the energy."""

    @property
    def sequence(self) -> NDArray[np.int8] | None:
        """+1 and -1, shape (n,)."""
        return _signs(self)

    @property
    def merit_factor(self) -> float | None:
        """Golay's n^2 / (2 E)."""
        if self.solution is None or not self.objective:
            return None
        return float(len(self.solution) ** 2 / (2 * self.objective))


class Assignment(Result):
    """The result of :class:`engine.MaxSAT`; ``solution`` has a 1 for each variable that is true."""

    @property
    def literals(self) -> list[int]:
        """The numbers of the variables from 1 on, negative where false, as in DIMACS output."""
        bits = [] if self.solution is None else self.solution.tolist()
        return [number if bit else -number for number, bit in enumerate(bits, 1)]

    @property
    def satisfied(self) -> NDArray[np.bool_]:
        """Which clauses hold, in the order in which they were given."""
        return self.arrays.get("satisfied", np.zeros(0, bool)).astype(bool)


class Sample(Result):
    """The result of :class:`engine.QUBO`."""

    @property
    def sample(self) -> dict[Any, int]:
        """The value, 0 or 1, of each variable, by number or by name."""
        bits = [] if self.solution is None else self.solution.tolist()
        return dict(zip(_labels(self), bits, strict=False))

    def sample_set(self) -> Any:
        """The solution and the last individuals of the population as a ``dimod.SampleSet``, the best first.

        Raises
        ------
        ModuleNotFoundError
            If the package dimod is not installed.
        ValueError
            If the run has found no solution.
        """
        try:
            dimod: Any = importlib.import_module("dimod")
        except ModuleNotFoundError as error:
            raise missing_package("sample_set", "dimod", "pip install dimod") from error
        if self.solution is None:
            raise ValueError("the run has found no solution, so there is no sample")
        rows = np.concatenate([self.solution[None], self.arrays["population"]])
        energies = np.concatenate([[self.objective], self.arrays["values"]])
        order = np.argsort(energies, kind="stable")
        return dimod.SampleSet.from_samples((rows[order], _labels(self)), "BINARY", energy=energies[order])
