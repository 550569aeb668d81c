"""Programs without an optimum, solved by real runs in the window: the reason, the certificate, and nothing else."""

import pytest

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
UNBOUNDED = "Maximize\n obj: x + y - z\nSubject To\n c1: x - y <= 10\nEnd\n"


def table(panel, key):
    headers, rows = next(figure for figure in panel.plots() if figure.key == key).table()
    return headers, list(rows)


@pytest.mark.full
@pytest.mark.parametrize("method", ["auto", "mpc"])
def test_an_infeasible_program_names_the_rows_that_contradict_each_other(qtbot, open_window, tmp_path, method):
    path = tmp_path / "contradiction.lp"
    path.write_text(INFEASIBLE)
    window = open_window()
    load(qtbot, window, path)
    window.pane.form.set_values({"method": method})
    tab = begin(qtbot, window)
    ended(qtbot, tab)
    reason = "these rows cannot hold together: c1, c2, c3, c4"
    for shown in (tab, None):
        if shown is None:  # the same run, opened again
            note = tab.note
            window.run_tabs.close(tab)
            shown = opened(qtbot, window, note.path)
            ended(qtbot, shown)
        panel = shown.panel
        assert shown.view.message == shown.note.message == reason
        assert panel._warning_label.text() == f"Infeasible: {reason}"
        assert not shown.banner.isVisible()
        assert shown.note.warnings == []
        assert {"Gap", "Best", "Bound"}.isdisjoint(dict(panel.summary()))
        headers, rows = table(panel, "rows")
        assert headers[:2] == ["row", "multiplier"]
        multipliers = {name: multiplier for name, multiplier, *_ in rows}
        largest = max(map(abs, multipliers.values()))
        scaled = {name: round(value / largest, 6) for name, value in multipliers.items() if abs(value) > 1e-6 * largest}
        assert scaled == {"c1": 1.0, "c2": -0.5, "c3": -0.5, "c4": -0.5}
        assert "infeasible" in panel.variables._empty.text()


@pytest.mark.full
def test_an_unbounded_program_names_the_variables_of_its_ray(qtbot, open_window, tmp_path):
    path = tmp_path / "endless.lp"
    path.write_text(UNBOUNDED)
    tab = solved(qtbot, open_window(), path)
    assert tab.note.message == "the objective has no bound: x and y can grow together without limit"
    headers, rows = table(tab.panel, "variables")
    assert headers[:2] == ["variable", "change"]
    assert {name: change for name, change, *_ in rows} == {"x": 1.0, "y": 1.0}
    assert "tab Solution" in tab.panel.objectives._hint_text or tab.panel.objectives.curves_have_data
