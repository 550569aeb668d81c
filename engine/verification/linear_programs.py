"""Linear programs: points, duals and rays are multiplied out in integers, so that no figure is wrong by rounding.

Every double is an integer times a power of two. All data are taken as integers times one such unit; activities, reduced
costs and objectives are then sums of products of Python's integers, exactly. What is compared with a tolerance is the
exact violation, and what is said to be proved is proved for the numbers as they are stored.
"""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ..base.result import Status
from .exact import Exact, Program, dual_value, outside
from .findings import Claim, Findings

_ROUNDED = 2.0**-50  # of the sum of all terms: what a sum of rounded products may be wrong by
_SMALLEST = 1e-6  # objectives below this are compared with this
_NEAR, _FAR = 1e4, 1e8  # what a certificate of infeasibility that is not exact must reach, and should
_VECTORS = ("row_duals", "reduced_costs", "activities", "farkas", "ray")
Vector = NDArray[np.float64]


def check(claim: Claim, found: Findings) -> None:
    """Check a point and its duals, or the ray that proves that there is no optimum."""
    program, result, arrays = Program.of(claim.problem), claim.result, claim.result.arrays
    tolerance = float(claim.options.get("acceptable", 1e-6))
    values = [arrays[name] for name in _VECTORS if name in arrays]
    values += [] if result.solution is None else [result.solution]
    if not all(bool(np.isfinite(value).all()) for value in values):
        found.refuted.append("the result contains a number that is not finite")
        return
    if result.solution is not None:
        objective = _check_point(program, claim, tolerance, found)
        if "row_duals" in arrays:
            _check_duals(program, claim, tolerance, objective, found)
        elif result.bound is not None:
            found.unverified.append(
                f"that nothing is better than {result.bound}: branch and bound leaves no certificate"
            )
    elif "farkas" in arrays and result.status == Status.INFEASIBLE:
        _check_farkas(program, arrays["farkas"], found)
    elif "ray" in arrays and result.status == Status.UNBOUNDED:
        _check_ray(program, arrays["ray"], tolerance, found)
    else:
        found.unverified.append(f"that the program is {result.status}: the run has stored no certificate")
    others = [name for name in ("column_status", "row_status", "cost_from", "side_from") if name in arrays]
    if others:
        found.unverified.append(f"the basis and its ranges ({', '.join(others)})")


def _most(values: Vector) -> float:
    return float(values.max(initial=0.0))


def _worst(violations: Vector, sizes: Vector) -> float:
    return _most(violations / sizes)


def _violations(program: Program, x: Vector) -> tuple[float, str, Exact, Vector]:
    """The largest relative violation of a row or bound; in words; the activities and the sizes of their terms."""
    activities, sizes = program.times(x)
    low, high = program.row_low, program.row_high
    sides = np.maximum(*(np.where(np.isfinite(side), np.abs(side), 0.0) for side in (low, high)))
    rows = outside(activities, low, high)
    semi = (program.kinds >= 2) & (x == 0.0)
    bounds = np.where(semi, 0.0, outside(Exact.of(x), program.low, program.high))
    worst = max(_worst(rows, 1.0 + sides + sizes), _worst(bounds, 1.0 + np.abs(x)))
    figures = f"the largest violation of a row is {_most(rows):.3g}, of a bound {_most(bounds):.3g}, exactly"
    return worst, figures, activities, sizes


def _check_point(program: Program, claim: Claim, tolerance: float, found: Findings) -> Fraction:
    """Check feasibility and the objective; returns the objective."""
    x, result = np.asarray(claim.result.solution, np.float64), claim.result
    worst, figures, activities, sizes = _violations(program, x)
    if worst <= tolerance:
        found.verified.append(f"the point is feasible within {tolerance:g} ({figures})")
    elif result.status in (Status.OPTIMAL, Status.FEASIBLE):
        found.refuted.append(f"the point is not feasible within {tolerance:g} ({figures})")
    else:
        found.unverified.append(f"that the point is feasible, which the result does not say either ({figures})")
    whole = (program.kinds == 1) | (program.kinds == 3)
    if whole.any():
        integral = bool((x[whole] == np.round(x[whole])).all())
        found.expect(integral, "integer variables are integers", "an integer variable is not an integer")
    terms = Exact.of(program.costs) * Exact.of(x)
    objective = program.sign * (terms.sum() + Fraction(program.offset))
    size = float(np.abs(program.costs * x).sum()) + abs(program.offset)
    found.expect(
        result.objective is not None and abs(objective - Fraction(result.objective)) <= _ROUNDED * size,
        f"the objective is {float(objective)!r}, rounded from the exact sum",
        f"the objective is {float(objective)!r}, but the result says {result.objective!r}",
    )
    _check_stored(claim, "activities", activities, sizes, found)
    return objective


def _check_stored(claim: Claim, name: str, exact: Exact, sizes: Vector, found: Findings, sign: int = 1) -> None:
    if name in claim.result.arrays:
        apart = np.abs((exact + -Exact.of(sign * claim.result.arrays[name])).floats())
        called = name.replace("_", " ")
        found.expect(
            bool((apart <= _ROUNDED * sizes).all()),
            f"the {called} agree with the solution",
            f"the {called} do not agree with the solution: one is wrong by {_most(apart):.3g}",
        )


def _check_duals(program: Program, claim: Claim, tolerance: float, objective: Fraction, found: Findings) -> None:
    result = claim.result
    y = program.sign * np.asarray(result.arrays["row_duals"], np.float64)
    reduced, sizes = program.reduced(y)
    _check_stored(claim, "reduced_costs", reduced, sizes, found, program.sign)
    sides = (program.row_low, program.row_high), (program.low, program.high)
    value, wrong, wrong_rows, terms = dual_value(y, sides[0], reduced, sides[1])
    value += Fraction(program.offset)
    bound, primal = float(program.sign * value), program.sign * objective
    if result.bound is not None:
        rounded = abs(value - program.sign * Fraction(result.bound)) <= _ROUNDED * (terms + abs(program.offset))
        found.expect(
            rounded, f"the duals add up to the bound {bound!r}", f"the duals add up to {bound!r}, not {result.bound!r}"
        )
    worst = max(_worst(wrong, 1.0 + sizes), _most(wrong_rows) / (1.0 + _most(np.abs(program.costs))))
    scale = max(abs(float(primal)), abs(float(value)), 1e-5 * terms, _SMALLEST)
    gap, infeasible = float(primal - value), max(_most(wrong), _most(wrong_rows))
    figures = f"the gap is {gap:.3g}, the largest dual infeasibility {infeasible:.3g}, exactly"
    if result.status != Status.OPTIMAL:
        found.unverified.append(f"optimality, which the result does not claim ({figures})")
    elif found.expect(
        worst <= tolerance and abs(gap) <= tolerance * scale,
        f"the objective is optimal within {tolerance:g} ({figures})",
        f"the duals do not prove the objective optimal within {tolerance:g} ({figures})",
    ):
        found.verified.append(_proved(program, value, primal, tolerance * scale, infeasible))


def _proved(program: Program, value: Fraction, primal: Fraction, room: float, infeasible: float) -> str:
    """What the duals prove without any tolerance."""
    if infeasible == 0.0:
        return f"the duals prove exactly that no feasible objective is better than {float(program.sign * value)!r}"
    reach = float(value - primal + Fraction(room)) / infeasible
    points = f"no feasible point with sum |x| <= {reach:.2g} over the variables and rows whose bounds are infinite"
    return f"the duals prove exactly that {points} is better by more than {room:.3g}"


def _check_farkas(program: Program, farkas: Vector, found: Findings) -> None:
    y = np.asarray(farkas, np.float64) / max(float(np.abs(farkas).max(initial=0.0)), 1e-300)
    program = program.relaxed()
    missing = (y > 0) & np.isneginf(program.row_low) | (y < 0) & np.isposinf(program.row_high)
    y = np.where(missing, 0.0, y)
    reduced = program.product(program.columns, program.rows, -y, len(program.costs))[0]
    value, wrong, _, _ = dual_value(y, (program.row_low, program.row_high), reduced, (program.low, program.high))
    if not found.expect(
        value > 0, "the certificate adds the rows up to a contradiction", "the certificate contradicts nothing"
    ):
        return
    if not wrong.any():
        found.verified.append("it is exact: no point at all is feasible")
        return
    reach = float(value) / float(wrong.max())
    size = 1.0 + max(_most(np.abs(side[np.isfinite(side)])) for side in (program.row_low, program.row_high))
    sentence = f"it is exact for points with sum |x| <= {reach:.3g}: none of them is feasible"
    (found.refuted if reach < _NEAR * size else found.unverified if reach < _FAR * size else found.verified).append(
        sentence
    )


def _check_ray(program: Program, ray: Vector, tolerance: float, found: Findings) -> None:
    d = np.asarray(ray, np.float64)
    moves, sizes = program.times(d)
    cone = [np.where(np.isfinite(side), 0.0, side) for side in (program.row_low, program.row_high)]
    rows = outside(moves, *cone)
    bounds = outside(Exact.of(d), *(np.where(np.isfinite(side), 0.0, side) for side in (program.low, program.high)))
    slope = (Exact.of(program.costs) * Exact.of(d)).sum()
    worst = max(_worst(rows, sizes + 1e-300), float(bounds.max(initial=0.0)))
    found.expect(
        slope < 0 and worst <= 1e-8 and bool(d.any()),
        f"the ray improves the objective and leads to no side (by {worst:.3g}, exactly)",
        f"the ray does not improve the objective, or leads to a side (by {worst:.3g})",
    )
    x = program.feasible_point()
    if x is None:
        found.unverified.append("that a point is feasible, without which the ray proves nothing: SciPy has found none")
        return
    worst, figures, _, _ = _violations(program, x)
    sentence = f"a point is feasible within {tolerance:g}: SciPy has found one ({figures})"
    (found.verified if worst <= tolerance else found.unverified).append(sentence)
