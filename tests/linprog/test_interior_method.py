"""When an interior-point method gives up, by what it is given of its points."""

from types import SimpleNamespace

import numpy as np
import pytest

from engine.solvers.linprog.interior.method import InteriorPoint, Settings


class _Reported:
    """A system of one row and one variable, whose points are as far from feasible as the test says."""

    def __init__(self):
        self.data = SimpleNamespace(upper=np.full(1, np.inf), free=np.zeros(1, bool), c=np.ones(1))
        self.lacking = 1.0

    def assess(self, *_):
        """The duality gap grows all the time."""
        return np.full(1, 1.0 - self.lacking), np.array([1.0, 1.0 / self.lacking, 0.0, 0.0, 0.0, 1.0, 1.0])


@pytest.mark.parametrize(("factor", "last"), [(0.95, 75), (1.0, 26)])
def test_a_method_goes_on_while_its_points_come_closer_to_feasible(factor, last):
    system = _Reported()
    method = InteriorPoint(system, np.ones(1), Settings())
    for iteration in range(200):
        method.state.iteration = iteration
        method.measure()
        if method.stuck:
            break
        system.lacking *= factor
    assert method.stuck
    assert last <= iteration <= last + 5


class _Diagonal(_Reported):
    """A system whose matrix is diagonal, and whose factor says nothing."""

    def __init__(self, entries):
        super().__init__()
        self.entries = entries

    def search_direction(self, *_):
        return np.zeros(self.entries.size), np.zeros(self.entries.size)

    def solve(self, rhs):
        return rhs

    def normal(self, p):
        return self.entries * p

    direction = normal


@pytest.mark.parametrize("largest", [10.0, 1e12])
def test_conjugate_gradients_that_do_not_converge_are_left_early(largest):
    system = _Diagonal(np.geomspace(1.0, largest, 200))
    method = InteriorPoint(system, np.ones(200), Settings())
    method._enough = 1e-3
    found = [method._solve_direction("affine") for _ in range(2)]
    if largest == 10.0:
        assert all(np.abs(1.0 - system.entries * dy).max() <= 1e-3 for dy in found)
        assert method.refinements > 12
    else:
        assert method.refinements == 2 * 6
