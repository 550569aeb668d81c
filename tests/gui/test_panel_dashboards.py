"""Every dashboard on a recorded run: its curves are the events, its pictures the result, live as in replay."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import engine
from engine.events import DeviceStatus, Event, Failed, Finished, Incumbent, Metric, Started, StateChanged, Trace
from engine.folder import RunFolder
from engine.solver import MetricSpec
from engine.solvers import discover
from engine.solvers.boa.schema import COLUMNS
from engine.text import value_text
from gui.app.theme import DARK, LIGHT, Theme
from gui.panels import GenericPanel, Panel, RunInfo, panel_classes, panel_for
from gui.panels.knapsack import chosen_items
from gui.pictures.network import network_places
from gui.plot.listing import Listing
from gui.plot.live import LivePlot
from gui.report.report import write_report

RECORDED = Path(__file__).parent.parent.parent / "samples" / "recorded"
FOLDERS = sorted(RECORDED.iterdir())


def ids(folder: Path) -> str:
    return folder.name


def info(folder: Path, solver: str | None = None) -> RunInfo:
    kept = RunFolder.open(folder)
    name = kept.description["solver"]
    declared = discover()[name]
    shown = name if solver is None else solver
    return RunInfo(shown, declared.metrics, kept.problem(), folder, folder.name, schema=declared.schema)


def events_of(folder: Path) -> list[Event]:
    return list(RunFolder.open(folder).events())


def batches(events: list[Event], size: int) -> Iterable[list[Event]]:
    return (events[place : place + size] for place in range(0, len(events), size))


def played(
    qtbot: Any, folder: Path, *, part: float = 1.0, size: int = 100, theme: Theme = LIGHT, solver: str | None = None
) -> Panel:
    """A panel that has been fed a part of a recorded run, in batches, as it is shown."""
    panel = panel_for(info(folder, solver), theme)
    qtbot.addWidget(panel)
    panel.resize(1100, 720)
    panel.show()
    events = events_of(folder)
    for batch in batches(events[: int(part * len(events))], size):
        panel.feed(batch)
    if part == 1.0:
        panel.finish(folder)
    return panel


def points(plot: LivePlot, name: str) -> list[tuple[float, float]]:
    curve = next(curve for curve in plot.curves if curve.name == name)
    return list(zip(*(axis.tolist() for axis in curve.data.points()), strict=True))


def values_of(events: list[Event], metric: str, device: str | None) -> list[tuple[float, float]]:
    chosen = [e for e in events if isinstance(e, Metric) and (e.name, e.device) == (metric, device)]
    return [(event.time, event.value) for event in chosen]


def figure(panel: Panel, key: str) -> Any:
    return next(figure for figure in panel.plots() if figure.key == key)


def titles(panel: Panel) -> set[str]:
    return {one.key for one in panel.plots()}


# --- all of them ------------------------------------------------------------------------------------------------


def test_every_solver_with_a_dashboard_has_a_small_recorded_run() -> None:
    recorded = {RunFolder.open(folder).description["solver"]: folder for folder in FOLDERS}
    assert set(panel_classes()) & set(discover()) <= set(recorded)
    for solver, folder in recorded.items():
        assert folder.name == solver
        assert sum(path.stat().st_size for path in folder.iterdir()) < 300_000


def test_dashboards_are_found_by_looking_and_others_get_the_generic_one(qtbot: Any) -> None:
    for solver in panel_classes():
        panel = panel_for(RunInfo(solver), LIGHT)
        qtbot.addWidget(panel)
        assert panel.solver == solver
    panel = panel_for(RunInfo("no such solver"), LIGHT)
    qtbot.addWidget(panel)
    assert type(panel) is GenericPanel


@pytest.mark.parametrize("folder", FOLDERS, ids=ids)
@pytest.mark.parametrize("part", [0.0, 0.5, 1.0])
def test_a_dashboard_can_be_looked_at_at_any_moment(qtbot: Any, folder: Path, part: float) -> None:
    panel = played(qtbot, folder, part=part)
    for page in range(panel.pages.count()):
        panel.pages.setCurrentIndex(page)
        qtbot.waitUntil(lambda: not any(one.dirty for one in panel.plots() if one.isVisible()), timeout=120_000)
    panel.set_theme(DARK)
    qtbot.waitUntil(lambda: not any(one.dirty for one in panel.plots() if one.isVisible()), timeout=120_000)
    state = dict(panel.summary())["State"]
    assert (state == "waiting") == (part == 0.0)
    if 0 < part < 1:
        assert state == "running"
    if part == 1.0:
        kept = RunFolder.open(folder).result()
        assert kept is not None
        assert state.partition(",")[0] == str(kept.status)


@pytest.mark.parametrize("folder", FOLDERS, ids=ids)
def test_all_figures_of_a_finished_run_have_numbers(qtbot: Any, folder: Path) -> None:
    panel = played(qtbot, folder)
    bare = {"power", "temperature"}  # a CPU does not tell them
    bare |= {"active_tiles", "item picture"}  # of a sparse table, and of none; the recorded one is dense
    bare |= {"race", "racers"}  # the recorded program was solved by one method
    for one in panel.plots():
        if one.key not in bare:
            assert one.table()[1], f"{folder.name}: {one.title}"


@pytest.mark.parametrize("folder", FOLDERS, ids=ids)
def test_a_run_looks_the_same_however_its_events_are_batched(qtbot: Any, folder: Path) -> None:
    one, other = played(qtbot, folder, size=23), played(qtbot, folder, size=10_000)
    assert one.summary() == other.summary()
    for first, second in zip(one.plots(), other.plots(), strict=True):
        assert first.table()[0] == second.table()[0]
        assert [list(row) for row in first.table()[1]] == [list(row) for row in second.table()[1]]


@pytest.mark.parametrize("folder", FOLDERS, ids=ids)
def test_the_generic_dashboard_has_a_curve_for_every_series(qtbot: Any, folder: Path) -> None:
    panel, events = played(qtbot, folder, solver=""), events_of(folder)
    series = {(event.name, event.device) for event in events if isinstance(event, Metric)}
    specs = {spec.name: spec for spec in panel.run.metrics}
    for name, device in series:
        title = device or (specs[name].title if name in specs else name.replace("_", " "))
        assert points(figure(panel, name), title) == values_of(events, name, device)
    plotted = {one.key for one in panel.plots()}
    assert {spec.name for spec in panel.run.metrics} <= plotted
    assert {f"trace {event.name}" for event in events if isinstance(event, Trace)} <= plotted


@pytest.mark.parametrize("folder", FOLDERS, ids=ids)
def test_the_health_of_devices_is_drawn_as_it_was_told(qtbot: Any, folder: Path) -> None:
    panel = played(qtbot, folder)
    statuses = [event for event in events_of(folder) if isinstance(event, DeviceStatus)]
    assert statuses
    for device in {event.device for event in statuses}:
        own = [event for event in statuses if event.device == device]
        assert points(figure(panel, "busy"), device) == [(event.time, event.busy) for event in own]
        assert points(figure(panel, "device memory"), device) == [(event.time, event.memory_used) for event in own]


class Page(HTMLParser):
    """What a page is made of."""

    def __init__(self) -> None:
        super().__init__()
        self.images: list[str] = []
        self.links: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "img":
            self.images.append(values["src"] or "")
        self.links += [value for name, value in attrs if name in ("href", "src") and value and tag != "img"]

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("folder", FOLDERS, ids=ids)
def test_a_report_is_one_file_with_every_picture(qtbot: Any, tmp_path: Path, folder: Path) -> None:
    panel = played(qtbot, folder, theme=DARK)
    write_report(panel, tmp_path / "report.html")
    page = Page()
    page.feed((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert page.links == []
    assert len(page.images) == sum(one.pictured and bool(one.table()[1]) for one in panel.plots()) >= 6
    for source in page.images:
        head, _, data = source.partition(",")
        assert head == "data:image/svg+xml;base64"
        assert base64.b64decode(data).startswith(b"<?xml")
    for _, value in panel.summary():
        assert value in page.text
    assert panel.theme is DARK


# --- each ---------------------------------------------------------------------------------------------------------


def test_branch_and_bound_shows_who_works_what_is_explored_and_the_schedule(qtbot: Any) -> None:
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
    assert panel.result is not None
    assert max(row[3] for row in figure(panel, "schedule").table()[1]) == panel.result.objective
    shares = [value for _, value in values_of(events, "explored_share", None)]
    assert shares == sorted(shares)


def test_the_open_nodes_by_level_are_bars_while_the_search_goes_on(qtbot: Any) -> None:
    panel = panel_for(RunInfo("branch_and_bound", problem=engine.Flowshop.taillard(1)), LIGHT)
    qtbot.addWidget(panel)
    panel.resize(1000, 700)
    panel.show()
    panel.pages.setCurrentIndex(1)
    pictures = []
    for place, values in enumerate(([0.0, 3.0, 40.0, 7.0], [0.0, 1.0, 15.0, 60.0])):
        panel.feed([Trace(time=place + 1.0, name="open_nodes_by_level", iteration=place, values=values)])
        bars = figure(panel, "levels")
        assert bars.table() == (["level", "nodes"], list(enumerate(values)))
        pictures.append(bars.to_image(1.0))
    assert pictures[0] != pictures[1]
    panel.feed([Finished(time=3.0, status="time_limit", objective=9)])
    assert bars.unit == "when last counted"


def test_the_best_solution_so_far_is_drawn_while_the_search_goes_on(qtbot: Any) -> None:
    folder = RECORDED / "branch_and_bound"
    events = events_of(folder)
    panel = panel_for(info(folder), LIGHT)
    qtbot.addWidget(panel)
    solutions = [event for event in events if isinstance(event, Incumbent) and event.solution]
    assert len(solutions) >= 2
    for event in solutions:
        panel.feed(events[: events.index(event) + 1])
        schedule = figure(panel, "schedule")
        assert max(row[3] for row in schedule.table()[1]) == event.objective
        assert schedule.unit == f"machines over time; {value_text(event.objective)} so far"
    costs = np.random.default_rng(3).integers(1, 99, (7, 7))
    late = engine.Tardiness(costs[0] + 1, costs[1], costs[2])
    for problem, key, rows in ((engine.ATSP(costs), "tour", 7), (late, "schedule", 7), (None, "", 0)):
        panel = panel_for(RunInfo("branch_and_bound", problem=problem), LIGHT)
        qtbot.addWidget(panel)
        panel.feed([Incumbent(time=1.0, objective=9, bound=3, solution=[0, 3, 1, 2, 6, 5, 4])])
        if key:
            assert len(figure(panel, key).table()[1]) == rows


def test_a_linear_ordering_is_shown_as_its_matrix_in_the_best_order(qtbot: Any) -> None:
    weights = np.random.default_rng(3).integers(-9, 99, (7, 7))
    panel = panel_for(RunInfo("branch_and_bound", problem=engine.LinearOrdering(weights)), LIGHT)
    qtbot.addWidget(panel)
    order = [0, 3, 1, 2, 6, 5, 4]
    panel.feed([Incumbent(time=1.0, objective=9, bound=3, solution=order)])
    picture = figure(panel, "ordered")
    assert [list(row[1:]) for row in picture.table()[1]] == (weights[np.ix_(order, order)] - weights.min()).tolist()
    assert picture.unit == f"weight above the least, -9, 0 to {weights.max() - weights.min()}"
    assert figure(panel, "solution").table()[1] == list(enumerate(order))


def test_knapsack_shows_the_moving_range_and_the_chosen_items(qtbot: Any) -> None:
    folder = RECORDED / "knapsack"
    panel, events = played(qtbot, folder), events_of(folder)
    problem: Any = panel.problem
    band = figure(panel, "active range").table()[1]
    assert all(0 <= low <= high <= problem.capacity for _, _, low, high in band)
    lows = {(event.device, event.value) for event in events if isinstance(event, Metric) and event.name == "range_low"}
    assert {(device, low) for _, device, low, _ in band} <= lows
    items = figure(panel, "items").table()[1]
    assert panel.result is not None
    assert sum(profit for _, profit, _, _ in items) == panel.result.objective
    assert sum(weight for _, _, weight, _ in items) <= problem.capacity
    assert figure(panel, "best_value").curves[0].data.last == panel.result.objective
    assert sum(dict(figure(panel, "share").table()[1]).values()) == pytest.approx(1.0, abs=0.01)


def test_knapsack_lists_items_of_two_constraints_and_in_their_own_unit() -> None:
    two = engine.TwoConstraintKnapsack([5, 4, 3], [[2, 3, 1], [1, 1, 4]], [4, 5])
    rows, summary = chosen_items(np.array([0, 2]), two)
    assert rows == [(0, 5, 2, 2.5), (2, 3, 1, 3.0)]
    assert "75 % of the capacity" in summary
    rows, _ = chosen_items(np.array([1]), engine.Knapsack([0.5, 1.25], [1, 5], 5))
    assert rows == [(1, 1.25, 5, 0.25)]


def test_knapsack_shows_the_tiles_of_the_sparse_table(qtbot: Any) -> None:
    panel = panel_for(RunInfo("knapsack"), LIGHT)
    qtbot.addWidget(panel)
    counts = [1, 900, 120_000, 40]
    panel.feed([Metric(time=k, name="active_tiles", value=v, device="opencl:0") for k, v in enumerate(counts)])
    assert [value for _, value in points(figure(panel, "active_tiles"), "opencl:0")] == counts


def test_a_network_too_large_to_be_told_is_said_to_be(qtbot: Any) -> None:
    panel = panel_for(RunInfo("boa", (), engine.BOA("trap-5", 1500)), LIGHT)
    qtbot.addWidget(panel)
    for key in ("network", "individuals", "gene entropy"):
        assert "at the end of the run" in figure(panel, key)._hint_text


def test_a_description_that_is_cut_off_says_so_and_is_told_in_full(qtbot: Any) -> None:
    panel = played(qtbot, RECORDED / "knapsack", part=0.2)
    for width, cut in ((1600, False), (420, True)):
        panel.resize(width, 720)
        qtbot.waitUntil(lambda cut=cut: panel._about.shown_text().endswith("…") == cut, timeout=120_000)
        assert panel._about.toolTip() == (panel._about.text() if cut else "")


def test_a_page_is_scrolled_only_where_its_figures_cannot_be_lower(qtbot: Any) -> None:
    panel = played(qtbot, RECORDED / "knapsack")
    panel.resize(820, 300)
    page = panel.pages.widget(0)
    bar = page.verticalScrollBar()
    qtbot.waitUntil(lambda: bar.maximum() > 0, timeout=120_000)
    around, two_rows = 300 - page.viewport().height(), 2 * panel.plots()[0].minimumHeight() + 18
    panel.resize(820, around + two_rows + 2)
    qtbot.waitUntil(lambda: bar.maximum() == 0, timeout=120_000)


def test_boa_shows_every_generation_the_network_and_the_population(qtbot: Any) -> None:
    folder = RECORDED / "boa"
    panel = played(qtbot, folder)
    result = panel.result
    assert result is not None
    history = result.arrays["history"]
    headers, rows = figure(panel, "fitness").table()
    assert headers == ["generation", "best", "mean", "worst"]
    assert len(rows) == len(history)
    assert [row[1] for row in rows] == history[:, 3].tolist()
    assert [list(row) for row in figure(panel, "network").table()[1]] == result.arrays["edges"].tolist()
    bits = [list(row[1:]) for row in figure(panel, "individuals").table()[1]]
    assert bits == result.arrays["population"].tolist()


def test_boa_draws_the_cut_of_a_graph_as_it_improves(qtbot: Any) -> None:
    square = [(a, b, 1.0) for a in range(30) for b in (a + 1, a + 6) if b < 30 and (b != a + 1 or b % 6)]
    problem = engine.BOA.max_cut(30, square)
    events: list[Any] = []
    result = engine.solve(problem, backend="opencl", local_search="none", population=100, on_event=events.append)
    shown = [event for event in events if isinstance(event, Trace) and event.name == "solution"]
    assert shown
    panel = panel_for(RunInfo("boa", (), problem), LIGHT)
    qtbot.addWidget(panel)
    panel.feed(shown)
    picture = figure(panel, "solution")
    assert [row[1] for row in picture.table()[1]] == result.solution.tolist()
    cut = round(problem.evaluate(result.solution[None])[0])
    assert f"{cut} of {len(square)} edges between the sides" in picture.unit
    assert result.objective == cut
    assert panel_for(RunInfo("boa", (), engine.BOA("trap-5", 30)), LIGHT).solution is None


@pytest.mark.parametrize("search", ["steepest", "none"])
def test_boa_shows_how_much_the_local_search_flips(qtbot: Any, tmp_path: Path, search: str) -> None:
    problem, folder = engine.BOA.nk(20, 3, 1, seed=1), tmp_path / "run"
    options: dict[str, Any] = {"population": 40, "max_generations": 4, "target": 1e9, "local_search": search}
    result = engine.solve(problem, backend="opencl", run_folder=folder, **options)
    panel = played(qtbot, folder)
    if search == "none":
        assert "local search" not in titles(panel)
        return
    plot = figure(panel, "local search")
    shown = [share for _, share in points(plot, "genes flipped")]
    history = result.arrays["history"]
    evaluations = np.diff(history[:, COLUMNS.index("evaluations")], prepend=0)
    assert shown == pytest.approx((np.diff(history[:, COLUMNS.index("flips")], prepend=0) / evaluations).tolist())
    assert shown[0] > 1, "random individuals are improved"
    assert np.dot(shown, evaluations) == pytest.approx(result.counters["flips"])


def test_boa_shows_local_search_as_it_goes_on(qtbot: Any) -> None:
    panel = panel_for(RunInfo("boa", (), engine.BOA("trap-5", 20)), LIGHT)
    qtbot.addWidget(panel)
    reports = [(0, 100, 300), (1, 150, 350), (2, 250, 350)]  # generations, evaluations, flips
    for time, values in enumerate(reports):
        names = ("generations", "evaluations", "flips")
        panel.feed([Metric(time=time, name=name, value=value) for name, value in zip(names, values, strict=True)])
    panel.feed([Metric(time=9, name="best", value=1)])  # which completes what was before
    assert points(figure(panel, "local search"), "genes flipped") == [(0, 3), (1, 1), (2, 0)]


def test_boa_tells_a_known_optimum_from_a_bound(qtbot: Any) -> None:
    problems = {"Known optimum": engine.BOA("onemax", 12), "Bound": engine.BOA.max_sat(2, [[1, 2], [-1], [-2]])}
    for title, problem in problems.items():
        events: list[Any] = []
        result = engine.solve(problem, backend="opencl", population=32, max_generations=2, on_event=events.append)
        panel = panel_for(RunInfo("boa", (), problem), LIGHT)
        qtbot.addWidget(panel)
        panel.feed([event for event in events if isinstance(event, (Incumbent, Finished))])
        shown = dict(panel.summary())
        assert shown[title] == str(result.bound)
        assert not {"Known optimum", "Bound"} - {title} & set(shown)


def test_large_graphs_are_laid_out_by_eigenvectors() -> None:
    side = 30
    nodes = np.arange(side * side).reshape(side, side)
    edges = np.concatenate([np.stack([nodes, np.roll(nodes, 1, axis)], axis=-1).reshape(-1, 2) for axis in (0, 1)])
    places = network_places(side * side, edges)
    assert np.isfinite(places).all()
    lengths = np.hypot(*(places[edges[:, 0]] - places[edges[:, 1]]).T)
    apart = np.hypot(*(places - places[np.random.default_rng(0).permutation(side * side)]).T)
    assert lengths.mean() < 0.2 * apart.mean()


def test_gibbs_shows_traces_convergence_and_intervals_by_size(qtbot: Any) -> None:
    folder = RECORDED / "gibbs"
    panel, events = played(qtbot, folder), events_of(folder)
    result = panel.result
    assert result is not None
    live = played(qtbot, folder, part=0.9)
    traced = [event for event in events[: int(0.9 * len(events))] if isinstance(event, Trace) and event.chain == 1]
    for name in {event.name for event in traced}:
        expected = [(event.iteration, event.values[0]) for event in traced if event.name == name]
        assert points(figure(live, f"trace {name}"), "chain 2") == expected
    chain = [value for at, value in points(figure(panel, "trace log_tau"), "chain 1") if at >= 300]
    assert chain == pytest.approx(result.arrays["log_tau"][0].tolist())
    forest = figure(panel, "forest").table()[1]
    sizes = [abs(row[1]) for row in forest]
    assert sizes == sorted(sizes, reverse=True)
    assert {row[0] for row in forest} == set(result.arrays["names"].tolist()) - {"log_tau"}
    reported = [value for _, value in values_of(events[: int(0.9 * len(events))], "r_hat", None)]
    assert [value for _, value in points(figure(live, "r_hat"), "R-hat")] == reported
    running = points(figure(panel, "r_hat"), "R-hat")
    assert len(running) > 20
    traced_rows = [k for k, name in enumerate(result.arrays["names"].tolist()) if f"trace {name}" in titles(panel)]
    assert running[-1][1] == pytest.approx(np.nanmax(result.arrays["r_hat"][traced_rows]))
    lags = figure(panel, "autocorrelation").table()[1]
    beta = result.arrays["log_tau"]
    apart = beta - beta.mean(axis=1, keepdims=True)
    expected_lag = ((apart[:, 3:] * apart[:, :-3]).sum(axis=1) / (apart**2).sum(axis=1)).mean()
    assert {row[0]: row[1] for row in lags}[3] == pytest.approx(expected_lag)


# --- what happens to runs -------------------------------------------------------------------------------------------


def test_a_resumed_run_goes_on_from_its_checkpoint(qtbot: Any) -> None:
    panel = panel_for(RunInfo("", (MetricSpec("speed", "Speed"),)), LIGHT)
    qtbot.addWidget(panel)
    start = next(event for event in events_of(RECORDED / "knapsack") if isinstance(event, Started))
    metric = [Metric(time=k / 10, name="speed", value=k) for k in range(100)]
    again = [Metric(time=5 + k / 10, name="speed", value=-k) for k in range(1, 5)]
    panel.feed([start, *metric, start.model_copy(update={"resumed": True, "time": 5.0}), *again])
    values = [value for _, value in points(figure(panel, "speed"), "Speed")]
    assert values == [*range(51), -1, -2, -3, -4]


def test_states_and_failures_are_said(qtbot: Any) -> None:
    panel = panel_for(RunInfo("knapsack"), LIGHT)
    qtbot.addWidget(panel)
    panel.feed([StateChanged(time=1.0, state="paused")])
    assert dict(panel.summary())["State"] == "paused"
    panel.feed([Failed(time=2.0, error="DeviceError", message="the device is gone", exit_code=3)])
    assert dict(panel.summary())["State"] == "failed"


def test_a_hidden_page_is_not_drawn_until_it_is_seen(qtbot: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []
    redraw = LivePlot.redraw
    monkeypatch.setattr(LivePlot, "redraw", lambda self: (drawn.append(self.title), redraw(self))[1])
    panel = played(qtbot, RECORDED / "knapsack", part=0.5)
    hidden = [one.title for one in panel.plots() if isinstance(one, LivePlot) and not one.isVisible()]
    assert hidden
    assert not set(hidden) & set(drawn)
    assert not any(one.populated for one in panel.plots() if one.title in hidden)
    panel.pages.setCurrentIndex(1)
    qtbot.waitUntil(lambda: "Exchanged between devices" in drawn, timeout=120_000)


def test_metrics_that_are_not_declared_are_shown_too(qtbot: Any) -> None:
    panel = panel_for(RunInfo("", ()), LIGHT)
    qtbot.addWidget(panel)
    panel.feed([Metric(time=1.0, name="luck_so_far", value=7.0)])
    assert points(figure(panel, "luck_so_far"), "Luck so far") == [(1.0, 7.0)]


def test_curves_of_the_network_and_listing_names_are_accessible(qtbot: Any) -> None:
    panel = played(qtbot, RECORDED / "boa")
    for one in panel.plots():
        assert one.accessibleName() == one.title
        assert one.menu_button.accessibleName()
        assert isinstance(one, Listing) or one.data_button.accessibleName()
    assert not re.search(r"\d", panel.pages.accessibleName())


def test_a_narrow_page_has_fewer_columns_and_never_scrolls_sideways(qtbot: Any) -> None:
    panel = played(qtbot, RECORDED / "branch_and_bound", part=0.5)
    page: Any = panel.pages.currentWidget()
    for width, columns in ((1100, 3), (640, 2), (380, 1)):
        panel.resize(width, 700)

        def fits(columns: int = columns) -> None:
            places = {page.grid.getItemPosition(place)[1] for place in range(page.grid.count())}
            assert max(places) == columns - 1
            assert page.widget().width() <= page.viewport().width()

        qtbot.waitUntil(fits, timeout=120_000)


def test_the_gap_is_said_in_percent_from_the_beginning(qtbot: Any) -> None:
    panel = played(qtbot, RECORDED / "linprog", part=0.5)
    assert dict(panel.summary())["Gap"].endswith(" %")


def test_linear_programming_shows_every_iteration_and_the_solution_with_its_duals(qtbot: Any) -> None:
    panel = played(qtbot, RECORDED / "linprog")
    result, problem = panel.result, panel.problem
    assert result is not None
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
    assert activities == pytest.approx((problem.A @ result.solution).tolist(), abs=1e-7)  # type: ignore[union-attr]


def test_a_race_shows_the_error_of_each_method_and_who_has_won(qtbot: Any, tmp_path: Path) -> None:
    random = np.random.default_rng(4)
    matrix = sp.random_array((400, 600), density=0.02, rng=random, format="csr")
    x, y = random.random(600), -random.random(400)
    problem = engine.LinearProgram(matrix.T @ y + random.random(600), A_ub=matrix, b_ub=matrix @ x)
    folder = tmp_path / "race"
    found = engine.solve(problem, method="race", run_folder=folder, backend="opencl")
    panel = played(qtbot, folder)
    headers, rows = figure(panel, "racers").table()
    assert headers == ["method", "error of its best point", "outcome"]
    assert [row[0] for row in rows] == found.arrays["racers"].tolist()
    assert [row[2] for row in rows].count("won") == 1
    assert dict(panel.summary())["Winner"] == rows[0][0]
    alone = tmp_path / "alone"
    engine.solve(problem, method="pdhg", tolerance=1e-3, acceptable=1e-2, run_folder=alone, backend="opencl")
    headers, rows = figure(played(qtbot, alone), "race").table()
    assert headers[1:] == ["pdhg"]
    assert rows[-1][1] <= 1e-3
