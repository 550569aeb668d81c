"""Claims about estimates of a tree's size: near the known sizes, unbiased, and reproducible."""

from __future__ import annotations

import json
from pathlib import Path

import click
import numpy as np
import pytest
from searching import as_gpu

import engine
from engine.cli import command_line
from engine.devices import Device, Member
from engine.errors import InputError
from engine.solvers.branch_and_bound.options import FlowshopOptions, Options
from engine.solvers.branch_and_bound.reference import search
from engine.solvers.branch_and_bound.search import sampling
from engine.solvers.branch_and_bound.search.sampling import TreeSampler
from engine.solvers.branch_and_bound.tree import INFINITY, Tree

# Taillard's instances with the optimum for upper bound, one-machine bound, min_branch: decomposed nodes.
KNOWN = [(30, 2178, 2_415_746), (28, 2200, 12_869_871), (21, 2297, 461_633_497)]


def sampled(member: Member, tree: Tree, options: Options, upper: int, seeds: range, gpu: bool = False) -> np.ndarray:
    """Independent estimates on one device."""

    def work(device: Device) -> np.ndarray:
        sampler = TreeSampler(device, tree, options, upper, as_gpu(member) if gpu else None)
        found = np.concatenate([sampler.estimates(upper, seed) for seed in seeds])
        sampler.release()
        return found

    return member.submit(work).result()


@pytest.mark.parametrize(("number", "upper", "nodes"), KNOWN)
def test_estimates_of_flowshops_are_within_a_factor_of_two(device: Member, number: int, upper: int, nodes: int) -> None:
    tree = engine.Flowshop.taillard(number).tree()
    found = sampled(device, tree, FlowshopOptions(), upper, range(3))
    assert nodes / 2 < np.median(found) < 2 * nodes


def test_estimates_of_queens_are_within_a_fifth(device: Member) -> None:
    found = sampled(device, engine.Queens(15).tree(), Options(), INFINITY, range(2))
    assert np.median(found) == pytest.approx(90_634_738, rel=0.2)


@pytest.mark.parametrize("gpu", [False, True], ids=["own kernels", "kernels of GPUs"])
def test_a_tree_that_is_drawn_whole_is_counted_exactly(device: Member, gpu: bool) -> None:
    problem = engine.Flowshop(np.random.default_rng(3).integers(1, 99, (4, 7)))
    tree = problem.tree()
    upper = search(tree).best + 12
    reference = search(tree, upper, share_best=False)
    assert 20 < reference.nodes < 500
    assert sampled(device, tree, FlowshopOptions(), upper, range(1), gpu) == pytest.approx(reference.nodes)


def test_estimates_from_few_nodes_are_right_on_average(device: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "_PLANS", (sampling._Plan(8, 64, 4),) * 2)
    tree = engine.Flowshop(np.random.default_rng(1).integers(1, 99, (5, 9))).tree()
    upper = search(tree).best + 30
    nodes = search(tree, upper, share_best=False).nodes
    found = sampled(device, tree, FlowshopOptions(), upper, range(60))
    error = found.std() / np.sqrt(len(found))
    assert found.std() > 0
    assert abs(found.mean() - nodes) < 5 * error
    assert error < 0.1 * nodes


def test_the_same_seed_makes_the_same_estimate(device: Member) -> None:
    tree = engine.Flowshop.taillard(30).tree()
    first, again, other = (
        sampled(device, tree, FlowshopOptions(), 2178, range(seed, seed + 1)).tolist() for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_a_forecast_has_an_amount_a_rate_and_a_time(device: Member) -> None:
    devices = [device.info.id] * 2
    forecast = engine.estimate(engine.Flowshop.taillard(23), devices=devices, upper_bound=2326)
    assert forecast.unit == "nodes"
    assert 0 < forecast.low <= forecast.amount <= forecast.high
    assert forecast.seconds == pytest.approx(forecast.amount / forecast.rate)
    assert 1.4e9 < forecast.amount < 5.8e9


def test_a_search_that_ends_at_once_is_forecast_exactly(device: Member) -> None:
    forecast = engine.estimate(engine.Queens(8), devices=[device.info.id])
    assert (forecast.low, forecast.amount, forecast.high) == (983, 983, 983)
    solved = engine.estimate(engine.Flowshop.taillard(30), devices=[device.info.id], upper_bound=5)
    assert solved.amount == 0


def test_a_solver_without_estimates_says_so(device: Member) -> None:
    with pytest.raises(InputError, match="the solver knapsack makes no estimates"):
        engine.estimate(engine.Knapsack([1, 2], [1, 1], 1), devices=[device.info.id])


def test_the_command_prints_a_forecast(device: Member, capsys: pytest.CaptureFixture[str]) -> None:
    sample = Path(__file__).parents[2] / "samples" / "branch_and_bound" / "ta030.txt"
    words = ["estimate", str(sample), "--upper-bound", "2178", "--devices", device.info.id]
    assert command_line([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert 1e6 < found["amount"] < 5e6
    assert command_line(words) == 0
    assert "nodes/s, as measured on these devices" in click.unstyle(capsys.readouterr().out)
