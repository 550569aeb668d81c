"""Runs that end without an optimum, or before their first report: the reason, and a full picture of the result."""

import pytest

import engine
from engine.solvers import discover
from tests.support.app import SAMPLES
from tests.support.dashboards import panel_of
from tests.support.interaction import begin, ended, load, opened, solved

INFEASIBLE = """Minimize
 obj: x + y + z + w
Subject To
 c0: w = 2
 c1: x + y + z >= 10
 c2: x + y <= 3
 c3: y + z <= 4
 c4: x + z <= 5
 c5: x + 2 y + w <= 100
End
"""


@pytest.mark.full
@pytest.mark.parametrize("method", ["auto", "mpc"])
def test_an_infeasible_program_names_the_rows_that_contradict_each_other(qtbot, open_window, tmp_path, method):
    (tmp_path / "contradiction.lp").write_text(INFEASIBLE)
    window = open_window()
    load(qtbot, window, tmp_path / "contradiction.lp")
    window.pane.form.set_values({"method": method})
    tab = begin(qtbot, window)
    ended(qtbot, tab)
    note, reason = tab.note, "these rows cannot hold together: c1, c2, c3, c4"
    for again in (False, True):
        if again:
            window.run_tabs.close(tab)
            tab = opened(qtbot, window, note.path)
            ended(qtbot, tab)
        panel = tab.panel
        assert tab.view.message == tab.note.message == reason
        assert panel._warning_label.text() == f"Infeasible: {reason}"
        assert (tab.banner.isVisible(), tab.note.warnings) == (False, [])
        assert {"Gap", "Best", "Bound"}.isdisjoint(dict(panel.summary()))
        multipliers = {name: multiplier for name, multiplier, *_ in rows_of(panel, "rows")}
        largest = max(map(abs, multipliers.values()))
        scaled = {name: round(value / largest, 6) for name, value in multipliers.items() if abs(value) > 1e-6 * largest}
        assert scaled == {"c1": 1.0, "c2": -0.5, "c3": -0.5, "c4": -0.5}


@pytest.mark.full
def test_an_unbounded_program_names_the_variables_of_its_ray(qtbot, open_window, tmp_path):
    (tmp_path / "endless.lp").write_text("Maximize\n obj: x + y - z\nSubject To\n c1: x - y <= 10\nEnd\n")
    tab = solved(qtbot, open_window(), tmp_path / "endless.lp")
    assert tab.note.message == "the objective has no bound: x and y can grow together without limit"
    assert [row[:2] for row in rows_of(tab.panel, "variables")] == [("x", 1.0), ("y", 1.0)]


def rows_of(panel, key):
    return list(next(figure for figure in panel.plots() if figure.key == key).table()[1])


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
    assert panel.result.arrays["racers"].tolist() == ["HiGHS simplex"]
    assert not panel.pages.isTabVisible(panel.pages.indexOf(panel.race))  # one method is no race
    assert "HiGHS has solved" in panel.totals._hint_text + panel.seconds._hint_text
    assert panel.variables.table()[1]
