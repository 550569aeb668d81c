"""Interior-point methods on a :class:`~engine.solvers.linprog.interior.system.System`: Mehrotra's, and the paper's.

Vectors over rows are (m,) arrays here on the host, those over variables and slacks (N,).

References
----------
S. Mehrotra, "On the implementation of a primal-dual interior point method", SIAM J. Optim. 2 (1992) 575-601.
J. Gondzio, "Multiple centrality corrections in a primal-dual method for linear programming", Comput. Optim. Appl. 6
(1996) 137-156.
R. Saigal, "On the primal-dual affine scaling method", University of Michigan TR 93-33 (1994); and Divakar, *Primal dual
affine scaling on GPUs*.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .system import System
from .worker import Target

Vector = NDArray[np.float64]

LEAST_GOAL = 1e-13
"""The smallest error that a method is asked for."""
_RELATIVE, _ABSOLUTE = 1e-13, 1e-10  # what is added to the diagonal of A Theta A^T, the second
_LEAST_ABSOLUTE, _BY_ERROR = 1e-13, 1e-9  # goes down with the error: near an optimum rows have tiny entries there
_RHO, _RHO_FREE = 1e-10, 1e-7  # what is added to 1 / theta, and what stands for it where there is no bound
_PATIENCE = {"mpc": 25, "pdas": 120}  # iterations without a better point, or one that is closer to feasible by
_CLOSER = 0.5  # this factor
_FARTHER = 3.0  # factor of the primal values of the starting point: covering problems then need fewer iterations
_INSIDE = 0.01  # of the mean of Mehrotra's start: how far inside a given point is moved
_LONGER, _GAIN = 0.2, 0.01  # by how much a corrector tries to lengthen the steps, and the gain at which it is kept
_NEAR = 1e-4  # error from which on steps end closer to the boundary
_TRIED = 6  # steps of conjugate gradients after which the residual must be half of what it was
_HALVING = 3  # times as many iterations without half the error


@dataclass(frozen=True)
class Settings:
    """What a method needs to know besides the program."""

    method: Literal["mpc", "pdas"] = "mpc"
    correctors: int = 2
    step: float = 0.8
    tolerance: float = 1e-8


@dataclass
class Measures:
    """Where the program stands, in the scaled standard form; errors are relative."""

    primal_objective: float
    dual_objective: float
    gap: float
    primal_infeasibility: float
    dual_infeasibility: float
    mu: float

    @property
    def error(self) -> float:
        """The greatest of gap and infeasibilities; inf for NaN."""
        worst = max(self.gap, self.primal_infeasibility, self.dual_infeasibility)
        return math.inf if math.isnan(self.gap + self.primal_infeasibility + self.dual_infeasibility) else worst


@dataclass
class _State:
    y: Vector
    iteration: int = 0
    last_step: tuple[float, float, float] | None = None  # primal, dual, and the spread of d that led there


class InteriorPoint:
    """One run of a method from a start to where it ends; ``b`` is (m,)."""

    def __init__(self, system: System, b: Vector, settings: Settings) -> None:
        data = system.data
        self.system = system
        self.settings = settings
        self.b = b
        bounded = np.isfinite(data.upper)
        self.pairs = float(max((~data.free).sum() + bounded.sum(), 1))
        self._b_size = 1.0 + _largest(b)
        self._c_size = 1.0 + _largest(data.c)
        self._u_size = 1.0 + float(np.where(bounded, data.upper, 0.0).max(initial=0.0))
        self.state = _State(np.zeros_like(b))
        self.goal = settings.tolerance  # the error at which it is done; lowered where points fail the audit
        self.done = self.stuck = False
        self._rho, self._rho_free = _RHO, _RHO_FREE
        self._dual_error = self._error = self._best = self._least_infeasibility = math.inf
        self._best_at = self._halved_at = 0
        self._halved = math.inf  # the best error when it was last halved
        self._best_point: tuple[Vector, ...] | None = None
        self.rp = b.copy()
        self._enough = 0.0
        self._mu = self._products = 1.0
        self._spread = np.ones(2)
        self._relaxed = True
        self._failed_factor = False
        self.refinements = 0

    # --- the start ----------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Mehrotra's point: least squares for both constraints, then moved inside (Mehrotra 1992, section 7)."""
        system, data = self.system, self.system.data
        system.unit_scale()
        system.form()
        self._factor(1e-12, 1e-10)
        lower, bounded = ~data.free, np.isfinite(data.upper)
        upper = np.where(bounded, data.upper, 0.0)
        x = system.transposed(system.solve(self.b))
        y = system.solve(system.times(data.c))
        reduced = data.c - system.transposed(y)
        w = np.where(bounded, upper - x, 1.0)
        s = np.where(bounded, np.maximum(reduced, 0.0), reduced)
        z = np.where(bounded, np.maximum(-reduced, 0.0), 0.0)

        def least(values: Vector, mask: NDArray[np.bool_]) -> float:
            return float(np.where(mask, values, np.inf).min(initial=0.0))

        primal = max(0.0, -1.5 * min(least(x, lower), least(w, bounded)))
        dual = max(0.0, -1.5 * least(s, lower))
        x, w = np.where(lower, x + primal, x), np.where(bounded, w + primal, 1.0)
        s, z = np.where(lower, s + dual, 1.0), np.where(bounded, z + dual, 1.0)

        def total(low: Vector, high: Vector) -> float:
            return float((np.where(lower, low, 0.0) + np.where(bounded, high, 0.0)).sum())

        products = total(x * s, w * z)
        more_primal = more_dual = 1.0
        if products > 0.0:
            more_primal = max(0.5 * products / max(total(s, z), 1e-300), 1e-3 if primal == 0.0 else 0.0)
            more_dual = max(0.5 * products / max(total(x, w), 1e-300), 1e-3 if dual == 0.0 else 0.0)
        x, w = np.where(lower, x + more_primal, x), np.where(bounded, w + more_primal, 1.0)
        s, z = np.where(lower, s + more_dual, 1.0), np.where(bounded, z + more_dual, 1.0)
        if self.settings.method == "mpc":
            x, w = np.where(lower, _FARTHER * x, x), np.where(bounded, _FARTHER * w, 1.0)
        system.set_point(x, s, w, z)
        self.state.y = y

    def start_near(self, x: Vector, y: Vector | None) -> None:
        """Begin near a point (N,), and row duals (m,) or those of Mehrotra's start, kept from zero by a part of it."""
        self.start()
        system, data = self.system, self.system.data
        start = system.get_point()
        lower, bounded = ~data.free, np.isfinite(data.upper)
        count = max(int(lower.sum()), 1)
        least_x, least_s = (_INSIDE * float(np.where(lower, values, 0.0).sum()) / count for values in start[:2])
        x = np.where(lower, np.maximum(x, least_x), x)
        w = np.where(bounded, np.maximum(data.upper - x, least_x), 1.0)
        s, z = start[1], start[3]
        if y is not None:
            reduced = data.c - system.transposed(y)
            s = np.where(lower, np.maximum(reduced, 0.0) + least_s, 1.0)
            z = np.where(bounded, np.maximum(-reduced, 0.0) + least_s, 1.0)
            self.state.y = y
        system.set_point(x, s, w, z)

    # --- checkpoints --------------------------------------------------------------------------------------------

    def save(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """The iterate, to go on from, as arrays of one row; and its scalars."""
        arrays = dict(zip(("x", "s", "w", "z"), (values[None] for values in self.system.get_point()), strict=True))
        arrays |= {"y": self.state.y[None], "goal": np.array([self.goal])}
        held = np.array([self._rho, self._rho_free, self._dual_error])  # the error decides when rho changes
        arrays["held"] = np.where(np.isfinite(held), held, 1e300)
        return arrays, {"iteration": self.state.iteration, "last_step": self.state.last_step}

    def restore(self, arrays: dict[str, NDArray[Any]], state: dict[str, Any]) -> None:
        """Go on from :meth:`save`."""
        self.system.set_point(*(arrays[name][0] for name in ("x", "s", "w", "z")))
        self.state = _State(arrays["y"][0], int(state["iteration"]), state["last_step"])
        self.goal = float(arrays["goal"][0])
        self._rho, self._rho_free, self._dual_error = arrays["held"].tolist()
        self._best_at = self._halved_at = self.state.iteration

    # --- an iteration -------------------------------------------------------------------------------------------

    @np.errstate(over="ignore", divide="ignore", invalid="ignore")  # a point may run away; then it is stuck
    def measure(self) -> Measures:
        """Residuals of the present point; updates ``done`` and ``stuck``, and keeps the best point."""
        ax, sums = self.system.assess(self.state.y, self._rho, self._rho_free)
        self.rp = self.b - ax
        self._products, primal, priced, dual_residual, bound_residual = (float(value) for value in sums[:5])
        self._spread = sums[5:]
        self._mu = self._products / self.pairs
        dual = float((self.b * self.state.y).sum()) - priced
        lacking = _largest(self.rp)
        self._enough = float(np.maximum(1e-3 * lacking, max(0.01 * self.goal, 1e-11) * self._b_size))
        found = Measures(
            primal_objective=primal,
            dual_objective=dual,
            gap=abs(primal - dual) / (1.0 + abs(primal)),
            primal_infeasibility=float(np.maximum(lacking / self._b_size, bound_residual / self._u_size)),
            dual_infeasibility=dual_residual / self._c_size,
            mu=self._mu,
        )
        self._relax(found.dual_infeasibility)
        error, iteration = found.error, self.state.iteration
        self._error = error
        better = error < self._best
        if better:
            self._best = error
            if error < 1e-3:
                self._best_point = (*self.system.get_point(), self.state.y.copy())
        infeasibility = max(found.primal_infeasibility, found.dual_infeasibility)
        closer = self.goal < infeasibility < _CLOSER * self._least_infeasibility
        if closer:
            self._least_infeasibility = infeasibility
        if better or closer:
            self._best_at = iteration
        if self._best <= 0.5 * self._halved:
            self._halved, self._halved_at = self._best, iteration
        self.done = error <= self.goal
        patience = _PATIENCE[self.settings.method]
        self.stuck = not self.done and (
            not math.isfinite(error)
            or iteration - self._best_at > patience
            or iteration - self._halved_at > _HALVING * patience
            or self._failed_factor
        )
        return found

    def _relax(self, error: float) -> None:
        """Hold variables less where that keeps the dual residual up: a full step leaves ``rho dx`` of it."""
        step = self.state.last_step
        stays = error > self.goal and error > 0.5 * self._dual_error
        self._relaxed = self.state.iteration > 0 and step is not None and step[1] > 0.9 and stays
        if self._relaxed:
            self._rho, self._rho_free = max(0.1 * self._rho, 1e-16), max(0.1 * self._rho_free, 1e-14)
        self._dual_error = error

    def return_to_best(self) -> None:
        """Return to the best point there was, if one was kept."""
        if self._best_point is not None:
            *point, y = self._best_point
            self.system.set_point(*point)
            self.state.y = y

    def _factor(self, relative: float, absolute: float) -> bool:
        """Factorise, adding more to the diagonal where that fails; whether it still fails."""
        for _ in range(8):
            if not self.system.factor(relative, absolute):
                return False
            relative, absolute = max(100.0 * relative, 1e-12), 100.0 * absolute
        self._failed_factor = True
        return True

    @np.errstate(over="ignore", divide="ignore", invalid="ignore")  # a point may run away; then it is stuck
    def iterate(self) -> None:
        """One step, if the program is not done; :meth:`measure` comes before."""
        if self._relaxed:
            self._spread = self.system.scale(self._rho, self._rho_free)
        spread = float(self._spread[1] / self._spread[0])
        self.system.form()
        if self._factor(_RELATIVE, min(max(_BY_ERROR * self._error, _LEAST_ABSOLUTE), _ABSOLUTE)):
            return
        dy, primal, dual = self._predict_and_correct() if self.settings.method == "mpc" else self._affine()
        self.system.advance(primal, dual)
        if dual != 0.0:
            self.state.y = self.state.y + dual * dy
        self.state.last_step = primal, dual, spread
        self.state.iteration += 1

    def _predict_and_correct(self) -> tuple[Vector, float, float]:
        mu = max(self._mu, 1e-300)
        self._solve_direction("affine")
        found = self.system.complete()
        primal, dual = _within(found)
        after = (self._products + primal * found[2] + dual * found[3] + primal * dual * found[4]) / self.pairs
        sigma = np.clip(np.power(after / mu, 3), 1e-8, 1.0)
        wanted = float(sigma if np.isfinite(sigma) else 1.0) * mu
        dy = self._solve_direction("second_order", wanted)
        ratios = self.system.complete()
        primal, dual = _within(ratios)
        for _ in range(self.settings.correctors):
            if min(primal, dual) > 0.95:
                break
            longer = min(1.0, primal + _LONGER), min(1.0, dual + _LONGER)
            other_dy = self._solve_direction("centrality", wanted, *longer, keep_previous=True)
            other = self.system.complete()
            other_primal, other_dual = _within(other)
            if other_primal + other_dual < primal + dual + _GAIN:
                self.system.swap_slots()
                break
            dy, ratios, primal, dual = other_dy, other, other_primal, other_dual
        return dy, *_within(ratios, 0.9999 if self._error < _NEAR else 0.99)

    def _affine(self) -> tuple[Vector, float, float]:
        """The paper's direction, to zero products, and its ratio test: a step of ``alpha / psi`` (at most 1)."""
        dy = self._solve_direction("affine")
        step = float(np.minimum(1.0, self.settings.step / np.maximum(self.system.complete()[:2].max(), 1e-300)))
        return dy, step, step

    def _solve_direction(
        self, kind: Target, wanted: float = 0.0, primal: float = 0.0, dual: float = 0.0, keep_previous: bool = False
    ) -> Vector:
        """dy, with A dx = rp but for rounding errors; dx stays on the devices."""
        system, enough = self.system, self._enough
        dy, ax = system.search_direction(kind, wanted, primal, dual, self.rp, keep_previous)
        residual = self.rp - ax
        for _ in range(3):
            error = _largest(residual)
            if not error > enough:
                break
            refined = dy + self._conjugate_gradients(residual, 0.1 * enough)
            new = self.rp - system.direction(refined)
            after = _largest(new)
            if not after < error:
                system.direction(dy)
                break
            dy, residual = refined, new
            if not after < 0.9 * error:
                break
        return dy

    def _conjugate_gradients(self, residual: Vector, enough: float) -> Vector:
        """A better solution of ``A Theta A^T e = residual``, with the factor as its preconditioner."""
        system = self.system
        e = best = np.zeros_like(residual)
        first_error = best_error = _largest(residual)
        r = residual
        p = z = system.solve(r)
        rz = float((r * z).sum())
        for step in range(12):
            self.refinements += 1
            q = system.normal(p)
            pq = float((p * q).sum())
            if not (0.0 < pq < math.inf and rz > 0.0):
                break
            alpha = rz / pq
            e, r = e + alpha * p, r - alpha * q
            error = _largest(r)
            if error < best_error:
                best, best_error = e, error
            if not error > enough or not (step + 1 < _TRIED or best_error <= 0.5 * first_error):
                break
            z = system.solve(r)
            before, rz = rz, float((r * z).sum())
            p = z + rz / before * p
        return best


def _within(ratios: Vector, part: float = 1.0) -> tuple[float, float]:
    """Steps of at most 1 and ``part`` of the way to the boundary, by the first two of ``ratios``; 0 for NaN."""
    primal, dual = (part / np.maximum(ratios[:2], part)).tolist()
    return 0.0 if math.isnan(primal) else primal, 0.0 if math.isnan(dual) else dual


def _largest(values: Vector) -> float:
    """The greatest entry by size; NaN if there is one."""
    return float(np.abs(values).max(initial=0.0))
