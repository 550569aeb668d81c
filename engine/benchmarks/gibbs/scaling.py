"""Chains on several devices, for ``quintet bench gibbs --scaling``: rows of the design are divided among them."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...devices import DevicePool, select
from ...reports.scaling import Outcome, ScalingCase
from ...reports.scaling_model import Exchange
from ...solvers.gibbs.design.layout import SHARDS
from ...solvers.gibbs.device.sampler import Sampler
from ...solvers.gibbs.device.worker import Worker
from ...solvers.gibbs.options import Options
from ...solvers.gibbs.validate import settings_for
from .command import advance, chain_state, repeated

_REPEATED = (
    "factor_panel",
    "factor_diagonal",
    "solve_panel",
    "solve_lower",
    "solve_lower_transposed",
    "update_scales",
    "prepare_solution",
    "add_noise",
    "finish_coefficients",
    "build_precision",
    "draw_scales",
    "begin_trajectory",
    "end_trajectory",
    "kick_momentum",
    "drift_position",
    "scale_gradient",
    "take_score",
    "move_lines",
    "rescale_chains",
    "record_draw",
    "library",
)
"""What has the size of beta: every device does it."""

_SHARDS_BYTES = 8 * SHARDS  # received for each of a chain's sums in a pass


def scaling_cases(quick: bool) -> Iterator[ScalingCase]:
    """Iterations of several chains, all draws compared."""
    rows, columns = (4000, 40) if quick else (4_000_000, 1000)
    for kernel, chains in (("px", 2), ("hmc", 2)) if quick else (("px", 4), ("px", 8), ("hmc", 4), ("hmc", 8)):
        yield _case(rows, columns, kernel, chains, 8 if quick else 1000 if kernel == "px" else 100)


def _case(rows: int, columns: int, kernel: str, chains: int, iterations: int) -> ScalingCase:
    options = Options.model_validate({"kernel": kernel, "chains": chains, "storage": "float32"})

    def run(devices: list[str], iterations: int = iterations) -> Outcome:
        design = repeated(rows, columns, options)
        settings = settings_for(design, options, 1)
        with DevicePool(select("auto", devices)) as pool, Sampler(pool, design, settings) as sampler:
            if kernel == "hmc":
                sampler.weigh_at(np.zeros(columns))
            sampler.make_gram(weighted=kernel == "hmc")
            sampler.set_state(chain_state(chains, columns))
            first = advance(sampler, 0, 2)
            before = sampler.exchanged_bytes()
            began = time.perf_counter()
            advance(sampler, first, iterations)
            sampler.workers.each(lambda worker: worker.device.sync())
            ended = time.perf_counter()
            exchanged = sampler.exchanged_bytes() - before
            answer: dict[str, Any] = {"draws": sampler.state()["beta"].tobytes()}
            steps = sampler.workers.first(_passes) * iterations
        return Outcome(began, ended, answer, exchanged, _exchange(steps, chains * (columns + 8)))

    name = f"{kernel} {rows:,} x {columns}, {chains} chains"
    few = max(8, iterations // 10)
    return ScalingCase(name, run, frozenset(_REPEATED), lambda devices: run(devices, few))


def _passes(worker: Worker) -> int:
    """Passes over the rows in an iteration."""
    return int(getattr(worker.moves, "steps", 0)) + 1


def _exchange(passes: int, sums: int) -> Callable[[int], Exchange]:
    return lambda devices: Exchange(passes, passes * _SHARDS_BYTES * sums * (devices - 1) / devices)
