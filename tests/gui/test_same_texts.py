"""A quantity has one text, wherever it is shown: in the app, on the command line, and in Python."""

import pytest

from engine.base.result import Result
from engine.cli.listing import _state_text
from engine.devices.monitor.machine import DeviceState
from engine.events import DeviceStatus, Finished, Incumbent, Metric, to_json
from engine.runs.observers import _best_text
from engine.util.text import bytes_text, counter_text, gap_text, rate_text, short_number_text
from gui.app.theme import LIGHT
from gui.compare.tab import CompareTab
from gui.panels import RunInfo, panel_for
from gui.plot import charts
from gui.plot.tables import ByteCount, cell_text
from gui.runs.columns import column_named
from gui.runs.notes import RunNote
from gui.runs.tree import accessible_text
from gui.runs.view import RunView
from tests.support.counting import STARTED
from tests.support.dashboards import figure, panel_of

BEGUN = STARTED.model_copy(update={"sense": "minimize"})
GAPS = {0.1234567: "12.35 %", 0.0: "0 %", 7.349e-9: "< 0.001 %", 0.00012346: "0.01235 %", 0.05: "5 %", 20.0: "> 1000 %"}


@pytest.mark.parametrize(("gap", "text"), GAPS.items())
@pytest.mark.parametrize("solver", ["branch_and_bound", "knapsack", "linprog"])
def test_a_gap(qtbot, tmp_path, solver, gap, text):
    best = Incumbent(time=1.0, objective=2178, bound=1916, gap=gap)
    end = Finished(time=2.0, status="time_limit", objective=2178, bound=1916, gap=gap)
    panel, note, summary = panel_for(RunInfo(solver), LIGHT), RunNote("a", str(tmp_path), "a"), RunView()
    qtbot.addWidget(panel)
    panel.feed([BEGUN, best, end])
    summary.take([BEGUN, best, end])
    note.follow(summary)
    assert dict(panel.summary())["Gap"] == text
    if solver != "linprog":
        assert figure(panel, "objective").unit.endswith(f"gap {text}")
    assert column_named("gap").text(note) == text
    assert f"gap {text}" in accessible_text(note)
    assert _best_text(best, wide=True) == f"best 2,178  bound 1,916  gap {text}"
    (tmp_path / "events.jsonl").write_text("".join(to_json(event) + "\n" for event in (BEGUN, best, end)))
    tab = CompareTab([note, note], LIGHT)
    qtbot.addWidget(tab)
    qtbot.waitUntil(lambda: bool(tab.tick()) or tab.complete, timeout=120_000)
    rows = {tab.table.item(row, 0).text(): row for row in range(tab.table.rowCount())}
    assert tab.table.item(rows["gap"], 1).text() == text


def test_the_gap_of_a_result_is_written_as_that_of_its_run():
    result = Result(status="time_limit", objective=2178, bound=1916, solution=None)
    assert f"gap {gap_text(result.gap)}," in repr(result)
    assert gap_text(result.gap) == "12.03 %"


def test_memory_is_in_the_same_unit_everywhere(qtbot):
    used, total = 28_924_000, 23_129_034_752
    panel = panel_of(qtbot, "gibbs")
    panel.feed([STARTED, DeviceStatus(time=1.0, device="opencl:0", memory_used=used, memory_total=total)])
    memory, devices = figure(panel, "device memory"), figure(panel, "devices")
    assert memory.value_text(memory.curves[0].data.last) == bytes_text(used) == "28.9 MB"
    headers, rows = devices.table()
    shown = next(row for row in rows if row[0] == "opencl:0")[headers.index("memory")]
    assert cell_text(shown) == bytes_text(total) == "23.1 GB"
    assert shown == total  # sorted by size, and copied as a number
    state = DeviceState("opencl:0", memory_used=used)
    assert "28.9 MB" in _state_text(state)
    assert counter_text(used, unit="bytes") == "28.9 MB"
    note = RunNote("a", "a", "a", solver="knapsack", counters={"exchanged_bytes": used})
    assert column_named("counter.exchanged_bytes").text(note) == "28.9 MB"
    assert [cell_text(ByteCount(one)) for one in (0, 999, 10**12)] == ["0 bytes", "999 bytes", "1.0 TB"]


def test_a_share_is_all_only_when_it_is(qtbot, monkeypatch):
    texts = {
        0.35974: "36 %",
        0.0002228: "0.0223 %",
        0.5: "50 %",
        0.99996: "99.9960 %",
        1 - 1e-9: "> 99.9999 %",
        1.0: "100 %",
        0.0: "0 %",
    }
    written = []
    monkeypatch.setattr(charts, "draw_text", lambda _painter, _at, text, *_: written.append(text))
    panel = panel_of(qtbot, "branch_and_bound")
    panel.resize(900, 600)
    for share, text in texts.items():
        panel.feed([Metric(time=1.0, name="explored_share", value=share)])
        written.clear()
        figure(panel, "explored").to_image(1.0)
        assert dict(panel.summary())["Leaves explored"] == written[-1] == text


def test_a_rate_and_a_large_number_have_one_form(qtbot):
    assert rate_text((5.94e6, "nodes/s")) == "5.94M nodes/s"
    panel = panel_of(qtbot, "branch_and_bound")
    assert figure(panel, "nodes_per_second").value_text(5.94e6) == short_number_text(5.94e6) == "5.94M"
    assert [cell_text(value) for value in (12_345_678.0, 65_586.4, 0.00123456)] == ["12,345,678", "65,586", "0.0012346"]
