"""What the dashboard of each solver shows of a recorded run is what the solver reported, and the result."""

import numpy as np
import pytest

import engine
from engine.events import Finished, Incumbent, Metric, Started, Trace
from engine.util.text import value_text
from gui.app.theme import LIGHT
from gui.panels import panel_for
from gui.panels.gibbs import rank_histograms
from gui.panels.knapsack import chosen_items
from tests.support.counting import STARTED
from tests.support.dashboards import RECORDED, events_of, figure, info, panel_of, played, points, titles, values_of


def test_branch_and_bound_shows_who_works_what_is_explored_and_the_schedule(qtbot):
    folder = RECORDED / "branch_and_bound"
    panel, events = played(qtbot, folder), events_of(folder)
    devices = next(event for event in events if isinstance(event, Started)).devices
    assert len(devices) == 2
    for key, metric in (("active_ivms", "active_ivms"), ("nodes_per_second", "nodes_per_second"), ("steals", "steals")):
        for device in devices:
            assert points(figure(panel, key), device) == values_of(events, metric, device)
    assert points(figure(panel, "steals"), "between devices") == values_of(events, "exchanged_intervals", None)
    bars = dict(figure(panel, "explored").table()[1])
    assert bars == {device: values_of(events, "explored_here", device)[-1][1] for device in devices}
    assert sum(bars.values()) == pytest.approx(1.0)
    incumbents = [(e.time, e.objective) for e in events if isinstance(e, Incumbent) and e.objective is not None]
    assert points(figure(panel, "objective"), "incumbent") == incumbents
    assert max(row[3] for row in figure(panel, "schedule").table()[1]) == panel.result.objective
    shares = [value for _, value in values_of(events, "explored_share", None)]
    assert shares == sorted(shares)


def test_the_best_solution_so_far_is_drawn_while_the_search_goes_on(qtbot):
    folder = RECORDED / "branch_and_bound"
    events, panel = events_of(folder), panel_for(info(folder), LIGHT)
    qtbot.addWidget(panel)
    solutions = [event for event in events if isinstance(event, Incumbent) and event.solution]
    assert len(solutions) >= 2
    for event in solutions:
        panel.feed(events[: events.index(event) + 1])
        schedule = figure(panel, "schedule")
        assert max(row[3] for row in schedule.table()[1]) == event.objective
        assert schedule.unit == f"jobs and machines counted from 0; {value_text(event.objective)} so far"
    weights = np.random.default_rng(3).integers(-9, 99, (7, 7))
    order, late = [0, 3, 1, 2, 6, 5, 4], engine.Tardiness(weights[0] + 10, weights[1] + 10, weights[2] + 10)
    ordering = engine.LinearOrdering(weights)
    for problem, key in ((engine.ATSP(weights + 10), "tour"), (late, "schedule"), (ordering, "ordered")):
        panel = panel_of(qtbot, "branch_and_bound", problem=problem)
        panel.feed([Incumbent(time=1.0, objective=9, bound=3, solution=order)])
        assert len(figure(panel, key).table()[1]) == 7
    shown = [list(row[1:]) for row in figure(panel, "ordered").table()[1]]
    assert shown == (weights[np.ix_(order, order)] - weights.min()).tolist()


def test_a_search_that_ends_at_the_root_says_what_proves_its_solution(qtbot):
    panel = panel_of(qtbot, "branch_and_bound", problem=engine.Flowshop([[1, 2, 3], [3, 1, 2]]), size=(1000, 700))
    end = {"status": "optimal", "objective": 7, "bound": 7, "gap": 0.0, "counters": {"nodes": 0}}
    best = Incumbent(time=0.853, objective=7, bound=7, gap=0.0, solution=[0, 2, 1])
    panel.feed([STARTED.model_copy(update={"sense": "minimize"}), best, Finished(time=0.859, seconds=0.854, **end)])
    for key in ("explored", "active_ivms", "nodes_per_second", "steals", "stealing_share", "explored_share"):
        assert "The bound at the root proves the first solution optimal" in figure(panel, key)._hint_text
    objective = figure(panel, "objective")
    objective.to_image(1.0)
    for curve in objective.curves:
        x, y = curve.item.getData()
        assert x[-1] - x[0] > 0.05 * objective.plot.getViewBox().viewRange()[0][1]
        assert set(y) == {7.0}


def test_a_resumed_search_shows_no_number_of_the_session_before(qtbot):
    panel = panel_of(qtbot, "branch_and_bound", problem=engine.Flowshop([[1, 2, 3], [3, 1, 2]]))
    begun = STARTED.model_copy(update={"sense": "minimize"})
    end = Finished(time=9.0, status="interrupted", objective=7, bound=5, gap=2 / 7, seconds=9.0, counters={"nodes": 63})
    panel.feed([begun, Metric(time=1.0, name="explored_share", value=0.3), end])
    assert (dict(panel.summary())["Nodes"], panel.explored._total) == ("63", 0.3)
    panel.feed([begun.model_copy(update={"resumed": True, "time": 9.0})])
    assert not {"Nodes", "Leaves explored"} & dict(panel.summary()).keys()
    assert panel.explored._total is None
    assert dict(panel.summary())["Best"] == "7"
    assert "grey: before it was resumed" in figure(panel, "explored").unit
    assert figure(panel, "steals").unit == "since it was resumed"
    panel.feed([end.model_copy(update={"time": 12.0, "counters": {"nodes": 111}})])
    assert dict(panel.summary())["Nodes"] == "111"


def test_knapsack_shows_the_moving_range_and_the_chosen_items(qtbot):
    folder = RECORDED / "knapsack"
    panel, events = played(qtbot, folder), events_of(folder)
    band = figure(panel, "active range").table()[1]
    assert all(0 <= low <= high <= panel.problem.capacity for _, _, low, high in band)
    lows = {(event.device, event.value) for event in events if isinstance(event, Metric) and event.name == "range_low"}
    assert {(device, low) for _, device, low, _ in band} <= lows
    items = figure(panel, "items").table()[1]
    assert sum(profit for _, profit, _, _ in items) == panel.result.objective
    assert sum(weight for _, _, weight, _ in items) <= panel.problem.capacity
    assert figure(panel, "best_value").curves[0].data.last == panel.result.objective
    assert sum(dict(figure(panel, "share").table()[1]).values()) == pytest.approx(1.0, abs=0.01)
    two = engine.MultidimensionalKnapsack([5, 4, 3], [[2, 3, 1], [1, 1, 4]], [4, 5])
    rows, summary = chosen_items(np.array([0, 2]), two)
    assert rows == [(0, 5, 2, 2.5), (2, 3, 1, 3.0)]
    assert "75 % of the capacity" in summary
    assert chosen_items(np.array([1]), engine.Knapsack([0.5, 1.25], [1, 5], 5))[0] == [(1, 1.25, 5, 0.25)]


def test_boa_shows_every_generation_the_network_and_the_population(qtbot):
    panel, result = played(qtbot, RECORDED / "boa"), engine.load(RECORDED / "boa")
    history = result.arrays["history"]
    headers, rows = figure(panel, "fitness").table()
    assert headers == ["generation", "best", "mean", "worst"]
    assert len(rows) == len(history)
    assert [row[1] for row in rows] == history[:, 3].tolist()
    edges = [[a, b] for a, b, change in figure(panel, "network").table()[1] if change != "gone"]
    assert edges == result.arrays["edges"].tolist()
    bits = [list(row[1:]) for row in figure(panel, "individuals").table()[1]]
    assert bits == result.arrays["population"].tolist()
    panel = panel_of(qtbot, "boa", problem=engine.MaxCut([(0, 1), (1, 2), (0, 2)]), size=(1000, 700))
    panel.feed([Trace(time=1.0, name="solution", iteration=1, values=[0, 1, 0])])
    cut = figure(panel, "solution")
    assert ([row[1] for row in cut.table()[1]], cut.to_image(1.0).isNull()) == ([0, 1, 0], False)
    assert "2 of 3 edges between the sides" in cut.unit


def test_gibbs_shows_traces_convergence_and_intervals_by_size(qtbot):
    folder = RECORDED / "gibbs"
    panel, events = played(qtbot, folder), events_of(folder)
    result = engine.load(folder)
    assert not panel.result.arrays  # its draws can be gigabytes
    live = played(qtbot, folder, part=0.9)
    traced = [event for event in events[: int(0.9 * len(events))] if isinstance(event, Trace) and event.chain == 1]
    for name in {event.name for event in traced}:
        expected = [(event.iteration, event.values[0]) for event in traced if event.name == name]
        assert points(figure(live, f"trace {name}"), "chain 2") == expected
    chain = [value for at, value in points(figure(panel, "trace log_tau"), "chain 1") if at >= 300]
    assert chain == pytest.approx(result.arrays["log_tau"][0].tolist())
    legend = figure(panel, "trace log_tau").entries
    legend[1].setChecked(False)
    for plot in panel.traces.values():
        assert [(e.name, e.colour, e.isChecked()) for e in plot.entries] == [
            (e.name, e.colour, e.isChecked()) for e in legend
        ]
        assert (plot.legend_at is None) == (not plot._legend.isHidden()) == (plot.entries is legend)
    forest = figure(panel, "forest").table()[1]
    sizes = [abs(row[1]) for row in forest]
    assert sizes == sorted(sizes, reverse=True)
    assert {row[0] for row in forest} == set(result.arrays["names"].tolist()) - {"log_tau"}
    low, high = result.arrays["quantiles"][1:13, [0, 2]].T  # of the features: the intercept is the first
    assert dict(panel.summary())["Away from 0"] == f"{((low > 0) | (high < 0)).sum()} of 12"
    reported = [value for _, value in values_of(events[: int(0.9 * len(events))], "r_hat", None)]
    assert [value for _, value in points(figure(live, "r_hat"), "R-hat")] == reported
    running = points(figure(panel, "r_hat"), "R-hat")
    assert len(running) > 20
    traced_rows = [k for k, name in enumerate(result.arrays["names"].tolist()) if f"trace {name}" in titles(panel)]
    assert running[-1][1] == pytest.approx(np.nanmax(result.arrays["r_hat"][traced_rows]))
    names = [str(result.arrays["names"][k]).replace("log_tau", "log tau") for k in traced_rows]
    each = [points(figure(panel, "ess of each"), name)[-1][1] for name in names]
    assert each == pytest.approx(result.arrays["ess_bulk"][traced_rows])
    assert min(each) == pytest.approx(points(figure(panel, "ess"), "effective draws")[-1][1])
    lags = figure(panel, "autocorrelation").table()[1]
    beta = result.arrays["log_tau"]
    apart = beta - beta.mean(axis=1, keepdims=True)
    expected_lag = ((apart[:, 3:] * apart[:, :-3]).sum(axis=1) / (apart**2).sum(axis=1)).mean()
    assert {row[0]: row[1] for row in lags}[3] == pytest.approx(expected_lag)


def test_linear_programming_shows_every_iteration_and_the_solution_with_its_duals(qtbot):
    panel, result = played(qtbot, RECORDED / "linprog"), engine.load(RECORDED / "linprog")
    problem = panel.problem
    history = result.arrays["history"]
    assert len(history) == result.counters["iterations"] + 1
    headers, rows = figure(panel, "objective").table()
    assert headers == ["iteration", "primal", "dual"]
    assert [list(row) for row in rows] == history[:, :3].tolist()
    assert rows[-1][1] == pytest.approx(result.objective, rel=1e-6)
    assert [row[1] for row in figure(panel, "gap").table()[1]] == history[:, 3].tolist()
    steps = figure(panel, "steps").table()[1]
    assert [list(row) for row in steps] == history[1:, [0, 7, 8]].tolist()  # no step leads to the first point
    headers, variables = figure(panel, "variables").table()
    assert headers == ["variable", "value", "lower", "upper", "cost", "reduced cost"]
    assert sum(row[1] * row[4] for row in variables) == pytest.approx(result.objective, rel=1e-9)
    activities = [row[1] for row in figure(panel, "rows").table()[1]]
    assert activities == pytest.approx((problem.A @ result.solution).tolist(), abs=1e-7)


def test_ranks_of_equal_chains_are_flat_and_those_of_shifted_ones_are_not():
    draws = np.random.default_rng(3).standard_normal((3, 4000))
    for shift, flat in ((0.0, True), (1.0, False)):
        draws[2] += shift
        counts = np.array([series.points()[1][:-1] for series in rank_histograms(draws)])
        assert counts.sum(axis=1).tolist() == [4000.0] * 3
        assert counts.sum(axis=0).tolist() == [600.0] * 20
        assert (np.abs(counts - 200).max() < 60) == flat
