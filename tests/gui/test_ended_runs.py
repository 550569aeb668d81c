"""Runs that end without an optimum, or before their first report: the reason, and a full picture of the result."""

import engine
from engine.solvers import discover
from tests.support.app import SAMPLES
from tests.support.dashboards import panel_of


def dashboard(qtbot, problem, folder, **options):
    """The dashboard of a run after its events and its result, as read from its folder."""
    events = []
    engine.solve(problem, run_folder=folder, on_event=events.append, **options)
    solver = discover()[events[0].solver]
    panel = panel_of(qtbot, solver.name, solver.metrics, problem, folder, schema=solver.schema, size=(1000, 700))
    panel.feed([event for event in events if event.type not in ("metric", "progress")])
    panel.finish(folder)
    return panel


def test_a_knapsack_solved_by_bounds_shows_its_items_and_why_there_is_no_table(qtbot, tmp_path):
    problem = engine.Knapsack.read(SAMPLES / "knapsack" / "strongly-1000.txt")
    panel = dashboard(qtbot, problem, tmp_path / "run")
    assert not panel.picture.isHidden()
    assert panel.band.isHidden()
    headers, rows = panel.picture.table()
    assert headers == ["", "weight", "profit"]
    chosen = [row[1:] for row in rows if row[0] == "chosen"]
    assert sum(profit for _, profit in chosen) == panel.result.objective
    assert sum(weight for weight, _ in chosen) <= problem.capacity
    assert "No table was needed" in panel.cells._hint_text


def test_a_linear_program_that_highs_solves_at_once_says_so(qtbot, tmp_path):
    panel = dashboard(qtbot, engine.LinearProgram.read(SAMPLES / "linprog" / "blend.mps"), tmp_path / "run")
    assert "HiGHS has solved the program before an iteration" in panel.objectives._hint_text
    assert engine.load(tmp_path / "run").arrays["racers"].tolist() == ["HiGHS simplex"]
    assert not panel.pages.isTabVisible(panel.pages.indexOf(panel.race))  # one method is no race
    assert "HiGHS has solved" in panel.totals._hint_text + panel.seconds._hint_text
    assert panel.variables.table()[1]
