"""Interior-point methods on a :class:`~engine.solvers.linprog.interior.system.System`: Mehrotra's, and the paper's.

Vectors over rows are (k, m) arrays here on the host, numbers of each program (k,). All programs of a batch take every
step together; one that is done stays where it is.

References
----------
S. Mehrotra, "On the implementation of a primal-dual interior point method", SIAM J. Optim. 2 (1992) 575-601.
J. Gondzio, "Multiple centrality corrections in a primal-dual method for linear programming", Comput. Optim. Appl. 6
(1996) 137-156.
R. Saigal, "On the primal-dual affine scaling method", University of Michigan TR 93-33 (1994); and Divakar, *Primal dual
affine scaling on GPUs*.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .system import System

__all__ = ["LEAST_GOAL", "InteriorPoint", "Measures", "Settings"]

Vector = NDArray[np.float64]

LEAST_GOAL = 1e-13
"""The smallest error that a method is asked for."""
_RELATIVE, _ABSOLUTE = 1e-13, 1e-10  # what is added to the diagonal of A Theta A^T
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
    """Where each program stands, (k,) each, in the scaled standard form; errors are relative."""

    primal_objective: Vector
    dual_objective: Vector
    gap: Vector
    primal_infeasibility: Vector
    dual_infeasibility: Vector
    mu: Vector

    @property
    def error(self) -> Vector:
        """The greatest of gap and infeasibilities; inf for NaN."""
        worst = np.maximum(self.gap, np.maximum(self.primal_infeasibility, self.dual_infeasibility))
        return np.where(np.isnan(worst), np.inf, worst)


@dataclass
class _State:
    y: Vector
    iteration: int = 0
    primal_step: Vector = field(default_factory=lambda: np.zeros(0))
    dual_step: Vector = field(default_factory=lambda: np.zeros(0))
    spread: Vector = field(default_factory=lambda: np.zeros(0))


class InteriorPoint:
    """One run of a method from a start to where it ends.

    Parameters
    ----------
    system : System
    b : ndarray, shape (k, m)
    settings : Settings

    Attributes
    ----------
    done : ndarray of bool, shape (k,)
        Programs that meet ``goal``.
    stuck : ndarray of bool, shape (k,)
        Programs that no longer improve.
    goal : ndarray, shape (k,)
        The error at which a program is done; lowered where points fail the audit.
    """

    def __init__(self, system: System, b: Vector, settings: Settings) -> None:
        data = system.data
        self.system = system
        self.settings = settings
        self.b = b
        k = data.batch
        self.k = k
        bounded = np.isfinite(data.upper)
        self.pairs = np.maximum((~data.free).sum(axis=1) + bounded.sum(axis=1), 1).astype(np.float64)
        self._b_size = 1.0 + _largest(b)
        self._c_size = 1.0 + _largest(data.c)
        self._u_size = 1.0 + np.where(bounded, data.upper, 0.0).max(axis=1, initial=0.0)
        self.state = _State(np.zeros_like(b))
        self.goal = np.full(k, settings.tolerance)
        self.done = np.zeros(k, bool)
        self.stuck = np.zeros(k, bool)
        self._absolute = np.full(k, _ABSOLUTE)
        self._relative = np.full(k, _RELATIVE)
        self._rho, self._rho_free = np.full(k, _RHO), np.full(k, _RHO_FREE)
        self._dual_error = np.full(k, np.inf)
        self._error = np.full(k, np.inf)
        self._best = np.full(k, np.inf)
        self._best_at = np.zeros(k, np.int64)
        self._least_infeasibility = np.full(k, np.inf)
        self._halved = np.full(k, np.inf)  # the best error when it was last halved
        self._halved_at = np.zeros(k, np.int64)
        self._best_point: tuple[Vector, ...] | None = None
        self.rp = b.copy()
        self._enough = np.zeros(k)
        self._mu = np.ones(k)
        self._products = np.ones(k)
        self._spread = np.ones((k, 2))
        self._relaxed = True
        self.refinements = 0

    # --- the start ----------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Mehrotra's point: least squares for both constraints, then moved inside (Mehrotra 1992, section 7)."""
        system, data = self.system, self.system.data
        system.unit_scale()
        system.form()
        self._factor(np.full(self.k, 1e-12), np.full(self.k, 1e-10))
        lower, bounded = ~data.free, np.isfinite(data.upper)
        upper = np.where(bounded, data.upper, 0.0)
        x = system.transposed(system.solve(self.b))
        y = system.solve(system.times(data.c))
        reduced = data.c - system.transposed(y)
        w = np.where(bounded, upper - x, 1.0)
        s = np.where(bounded, np.maximum(reduced, 0.0), reduced)
        z = np.where(bounded, np.maximum(-reduced, 0.0), 0.0)

        def least(values: Vector, mask: NDArray[np.bool_]) -> Vector:
            return np.asarray(np.where(mask, values, np.inf).min(axis=1, initial=0.0))

        primal = np.maximum(0.0, -1.5 * np.minimum(least(x, lower), least(w, bounded)))[:, None]
        dual = np.maximum(0.0, -1.5 * least(s, lower))[:, None]
        x, w = np.where(lower, x + primal, x), np.where(bounded, w + primal, 1.0)
        s, z = np.where(lower, s + dual, 1.0), np.where(bounded, z + dual, 1.0)

        def total(low: Vector, high: Vector) -> Vector:
            return np.asarray((np.where(lower, low, 0.0) + np.where(bounded, high, 0.0)).sum(axis=1, keepdims=True))

        products = total(x * s, w * z)
        more_primal = 0.5 * products / np.maximum(total(s, z), 1e-300)
        more_dual = 0.5 * products / np.maximum(total(x, w), 1e-300)
        more_primal = np.where(products > 0.0, np.maximum(more_primal, np.where(primal == 0.0, 1e-3, 0.0)), 1.0)
        more_dual = np.where(products > 0.0, np.maximum(more_dual, np.where(dual == 0.0, 1e-3, 0.0)), 1.0)
        x, w = np.where(lower, x + more_primal, x), np.where(bounded, w + more_primal, 1.0)
        s, z = np.where(lower, s + more_dual, 1.0), np.where(bounded, z + more_dual, 1.0)
        if self.settings.method == "mpc":
            x, w = np.where(lower, _FARTHER * x, x), np.where(bounded, _FARTHER * w, 1.0)
        system.set_point(x, s, w, z)
        self.state.y = y

    def start_near(self, x: Vector, y: Vector | None) -> None:
        """Begin near a point, such as the optimum of a similar program.

        Values and dual slacks are kept from zero by a part of those of Mehrotra's start, which also has the duals if
        they are not given.

        Parameters
        ----------
        x : ndarray, shape (k, N)
        y : ndarray, shape (k, m), optional
            Row duals.
        """
        self.start()
        system, data = self.system, self.system.data
        start = system.get_point()
        lower, bounded = ~data.free, np.isfinite(data.upper)
        count = np.maximum(lower.sum(axis=1, keepdims=True), 1)
        least_x, least_s = (
            _INSIDE * np.where(lower, values, 0.0).sum(axis=1, keepdims=True) / count for values in start[:2]
        )
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
        """The iterate, to go on from; the state has the first program's last steps and spread of d, for reports."""
        x, s, w, z = self.system.get_point()
        arrays = {
            "x": x,
            "s": s,
            "w": w,
            "z": z,
            "y": self.state.y,
            "goal": self.goal,
            "regularisation": self._absolute,
        }
        parts = (self.state.primal_step, self.state.dual_step, self.state.spread)
        step = [float(part[0]) for part in parts] if all(part.size for part in parts) else None
        return arrays, {"iteration": self.state.iteration, "last_step": step}

    def restore(self, arrays: dict[str, NDArray[Any]], state: dict[str, Any]) -> None:
        """Go on from :meth:`save`."""
        self.system.set_point(*(arrays[name] for name in ("x", "s", "w", "z")))
        self.state.y = arrays["y"]
        self.goal = arrays["goal"]
        self._absolute = arrays["regularisation"]
        self.state.iteration = int(state["iteration"])
        if state["last_step"] is not None:
            parts = (np.full(len(self.goal), value) for value in state["last_step"])
            self.state.primal_step, self.state.dual_step, self.state.spread = parts
        self._best_at[:] = self._halved_at[:] = self.state.iteration

    # --- an iteration -------------------------------------------------------------------------------------------

    @np.errstate(over="ignore", divide="ignore", invalid="ignore")  # a point may run away; then it is stuck
    def measure(self) -> Measures:
        """Residuals of the present point; updates ``done`` and ``stuck``, and keeps a lone program's best point."""
        ax, sums = self.system.assess(self.state.y, self._rho, self._rho_free)
        self.rp = self.b - ax
        self._products, self._spread = sums[:, 0], sums[:, 5:]
        mu = self._mu = sums[:, 0] / self.pairs
        primal, dual = sums[:, 1], (self.b * self.state.y).sum(axis=1) - sums[:, 2]
        lacking = _largest(self.rp)
        self._enough = np.maximum(1e-3 * lacking, np.maximum(0.01 * self.goal, 1e-11) * self._b_size)
        found = Measures(
            primal_objective=primal,
            dual_objective=dual,
            gap=np.abs(primal - dual) / (1.0 + np.abs(primal)),
            primal_infeasibility=np.maximum(lacking / self._b_size, sums[:, 4] / self._u_size),
            dual_infeasibility=sums[:, 3] / self._c_size,
            mu=mu,
        )
        self._relax(found.dual_infeasibility)
        error = self._error = found.error
        better = error < self._best
        if self.k == 1 and better[0] and error[0] < 1e-3:
            self._best_point = (*self.system.get_point(), self.state.y.copy())
        self._best = np.where(better, error, self._best)
        infeasibility = np.maximum(found.primal_infeasibility, found.dual_infeasibility)
        closer = (infeasibility < _CLOSER * self._least_infeasibility) & (infeasibility > self.goal)
        self._least_infeasibility = np.where(closer, infeasibility, self._least_infeasibility)
        self._best_at = np.where(better | closer, self.state.iteration, self._best_at)
        halved = self._best <= 0.5 * self._halved
        self._halved = np.where(halved, self._best, self._halved)
        self._halved_at = np.where(halved, self.state.iteration, self._halved_at)
        self.done = error <= self.goal
        patience = _PATIENCE[self.settings.method]
        self.stuck = ~self.done & (
            ~np.isfinite(error)
            | (self.state.iteration - self._best_at > patience)
            | (self.state.iteration - self._halved_at > _HALVING * patience)
            | self._failed_factor
        )
        return found

    def _relax(self, error: Vector) -> None:
        """Hold variables less where that keeps the dual residual up: a full step leaves ``rho dx`` of it."""
        self._relaxed = False
        if self.state.iteration and self.state.dual_step.size:
            held = (self.state.dual_step > 0.9) & (error > self.goal) & (error > 0.5 * self._dual_error)
            self._relaxed = bool(held.any())
            self._rho = np.where(held, np.maximum(0.1 * self._rho, 1e-16), self._rho)
            self._rho_free = np.where(held, np.maximum(0.1 * self._rho_free, 1e-14), self._rho_free)
        self._dual_error = error

    _failed_factor: NDArray[np.bool_] | bool = False

    def return_to_best(self) -> None:
        """Return to the best point there was, if one was kept."""
        if self._best_point is not None:
            x, s, w, z, y = self._best_point
            self.system.set_point(x, s, w, z)
            self.state.y = y

    def _factor(self, relative: Vector, absolute: Vector) -> bool:
        """Factorise, adding more to the diagonal where that fails; whether it still fails for some program."""
        for _ in range(8):
            failed = self.system.factor(relative, absolute) != 0
            failed &= ~(self.done | self.stuck)
            if not failed.any():
                return False
            relative = np.where(failed, np.maximum(100.0 * relative, 1e-12), relative)
            absolute = np.where(failed, 100.0 * absolute, absolute)
        self._failed_factor = failed | self._failed_factor
        return True

    @np.errstate(over="ignore", divide="ignore", invalid="ignore")  # a point may run away; then it is stuck
    def iterate(self) -> None:
        """One step of every program that is not done; :meth:`measure` comes before."""
        if self._relaxed:
            self._spread = self.system.scale(self._rho, self._rho_free)
        self.state.spread = self._spread[:, 1] / self._spread[:, 0]
        self.system.form()
        failed = self._factor(self._relative, self._absolute)
        if failed:
            return
        if self.settings.method == "mpc":
            dy, primal, dual = self._predict_and_correct()
        else:
            dy, primal, dual = self._affine()
        moving = ~(self.done | self.stuck)
        primal, dual = np.where(moving, primal, 0.0), np.where(moving, dual, 0.0)
        self.system.advance(primal, dual)
        self.state.y = np.where((dual != 0.0)[:, None], self.state.y + dual[:, None] * dy, self.state.y)
        self.state.primal_step, self.state.dual_step = primal, dual
        self.state.iteration += 1

    def _predict_and_correct(self) -> tuple[Vector, Vector, Vector]:
        nothing = np.zeros(self.k)
        mu = np.maximum(self._mu, 1e-300)
        self._solve_direction("affine", nothing, nothing, nothing)
        found = self.system.complete()
        primal, dual = _within(found)
        after = (self._products + primal * found[:, 2] + dual * found[:, 3] + primal * dual * found[:, 4]) / self.pairs
        sigma = np.clip((after / mu) ** 3, 1e-8, 1.0)
        wanted = np.where(np.isfinite(sigma), sigma, 1.0) * mu
        dy = self._solve_direction("second_order", wanted, nothing, nothing)
        ratios = self.system.complete()
        primal, dual = _within(ratios)
        for _ in range(self.settings.correctors if self.k == 1 else 0):
            if min(primal[0], dual[0]) > 0.95:
                break
            longer = np.minimum(1.0, primal + _LONGER), np.minimum(1.0, dual + _LONGER)
            other_dy = self._solve_direction("centrality", wanted, *longer, keep_previous=True)
            other = self.system.complete()
            other_primal, other_dual = _within(other)
            if other_primal[0] + other_dual[0] < primal[0] + dual[0] + _GAIN:
                self.system.swap_slots()
                break
            dy, ratios, primal, dual = other_dy, other, other_primal, other_dual
        part = np.where(self._error < _NEAR, 0.9999, 0.99)
        return dy, *_within(ratios, part[:, None])

    def _affine(self) -> tuple[Vector, Vector, Vector]:
        """The paper's direction, to zero products, and its ratio test: a step of ``alpha / psi`` (at most 1)."""
        nothing = np.zeros(self.k)
        dy = self._solve_direction("affine", nothing, nothing, nothing)
        step = np.minimum(1.0, self.settings.step / np.maximum(self.system.complete()[:, :2].max(axis=1), 1e-300))
        return dy, step, step

    def _solve_direction(
        self, kind: Any, wanted: Vector, primal: Vector, dual: Vector, keep_previous: bool = False
    ) -> Vector:
        """dy, with A dx = rp but for rounding errors; dx stays on the devices."""
        system, enough = self.system, self._enough
        dy, ax = system.search_direction(kind, wanted, primal, dual, self.rp, keep_previous)
        residual = self.rp - ax
        for _ in range(3):
            error = _largest(residual)
            bad = (error > enough) & ~(self.done | self.stuck)
            if not bad.any():
                break
            change = np.where(bad[:, None], self._conjugate_gradients(residual, 0.1 * enough, bad), 0.0)
            refined = dy + change
            new = self.rp - system.direction(refined)
            after = _largest(new)
            better = after < error
            if not better.all() and (bad & ~better).any():
                dy = np.where((better | ~bad)[:, None], refined, dy)
                system.direction(dy)
                break
            dy, residual = refined, new
            if not (after < 0.9 * error)[bad].any():
                break
        return dy

    def _conjugate_gradients(self, residual: Vector, enough: Vector, wanted: NDArray[np.bool_]) -> Vector:
        """A better solution of ``A Theta A^T e = residual``, with the factor as its preconditioner."""
        system = self.system
        e = np.zeros_like(residual)
        first_error = best_error = _largest(residual)
        best, r = e, residual
        z = system.solve(r)
        p, rz = z, (r * z).sum(axis=1)
        going = wanted.copy()
        for step in range(12):
            self.refinements += 1
            q = system.normal(p)
            pq = (p * q).sum(axis=1)
            going &= (pq > 0.0) & np.isfinite(pq) & (rz > 0.0)
            if not going.any():
                break
            alpha = np.where(going, rz / np.where(going, pq, 1.0), 0.0)[:, None]
            e, r = e + alpha * p, r - alpha * q
            error = _largest(r)
            better = going & (error < best_error)
            best = np.where(better[:, None], e, best)
            best_error = np.where(better, error, best_error)
            going &= (error > enough) & ((step + 1 < _TRIED) | (best_error <= 0.5 * first_error))
            if not going.any():
                break
            z = system.solve(r)
            new = (r * z).sum(axis=1)
            p = z + np.where(going, new / np.where(going, rz, 1.0), 0.0)[:, None] * p
            rz = new
        return best


def _within(ratios: Vector, part: Vector | float = 1.0) -> tuple[Vector, Vector]:
    """Steps of at most 1, and at most ``part``, (k, 1) or one for all, of the way to the boundary.

    The first two of ``ratios`` are the greatest ``-dx / x`` and ``-ds / s``.
    """
    steps = part / np.maximum(ratios[:, :2], part)
    steps[np.isnan(steps)] = 0.0
    return steps[:, 0], steps[:, 1]


def _largest(values: Vector) -> Vector:
    """The greatest entry of each program by size."""
    return np.asarray(np.abs(values).max(axis=1, initial=0.0))
