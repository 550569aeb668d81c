"""Reports are written and read back whole; text from measurements cannot become markup."""

import os
import re
from io import StringIO

import pytest
from rich.console import Console

from engine.cli import command_line
from engine.cli.delegating import reproductions
from engine.errors import InputError
from engine.reports import benchmarks
from engine.reports.figures import can_draw
from engine.reports.machine import describe_machine
from engine.reports.plots import Plot, bars_of, draw_plot
from engine.reports.report import Figure, Finding, Report, Section, Table, Text
from engine.reports.study import Claim, Study
from engine.reproductions.papers import Paper
from engine.solvers import discover
from tests.support.environment import ROOT
from tests.support.needs import package

PAPERS = ("boa", "horseshoe", "ivm", "knapsack", "pdas")


def example():
    table = Table("Times", ("size", "sec|onds", "who"), (("10", "0.5", "<b>"), ("-3", "", "x|y")), "warm runs")
    blocks = [Text("a < b"), table, Figure("curve", "c.svg"), Finding("it holds", False, "no"), Finding("?", None, "-")]
    return Report("x", "A title", "A paper.", "quick", describe_machine([]), 1.5, [Section("First", blocks)])


def test_a_busy_machine_makes_no_record(monkeypatch, tmp_path):
    report = example()
    for load, busy in ((2.0, False), (2.1, True)):
        report.machine.update(load=load, cores=2)
        assert ("no record" in report.markdown()) == ("no record" in report.html()) == busy
    monkeypatch.setattr(os, "getloadavg", lambda: (1000.0, 1000.0, 1000.0))
    folder = tmp_path / "none"
    assert command_line(["reproduce", "knapsack", "--profile", "quick", "--record", "--folder", str(folder)]) == 2
    assert not folder.exists()


@pytest.mark.full
@pytest.mark.parametrize("name", PAPERS)
def test_the_quick_profile_writes_a_report_whose_figures_exist(name, tmp_path):
    folder = tmp_path / "report"
    assert command_line(["reproduce", name, "--profile", "quick", "--folder", str(folder)]) == 0
    report = Report.read(folder / "report.json")
    assert (report.name, report.command) == (name, f"quintet reproduce {name} --profile quick --seed 1")
    found = {finding.claim: finding.holds for finding in report.findings}
    assert found.items() >= {claim.says: claim.quick for claim in Paper.named(name).claims.values()}.items()
    blocks = [block for section in report.sections for block in section.blocks]
    figures = [block for block in blocks if isinstance(block, Figure)]
    assert any(isinstance(block, Table) for block in blocks)
    assert all((folder / figure.file).is_file() for figure in figures)
    assert figures or not can_draw()


def test_every_report_of_the_documentation_has_a_figure_and_names_its_tables():
    paths = sorted((ROOT / "docs" / "reproduction").glob("*/report.json"))
    folders = {path.parent.name for path in paths}
    named = {f"{name}-{kind}" for name in PAPERS for kind in ("cpu", "gpu")}
    assert {f"{name}-gpu" for name in PAPERS} <= folders <= named
    for path in paths:
        report, text = Report.read(path), path.with_name("report.md").read_text(encoding="utf-8")
        figures = [block for section in report.sections for block in section.blocks if isinstance(block, Figure)]
        assert figures, path
        assert all((path.parent / figure.file).is_file() for figure in figures)
        assert text == report.markdown()
        claims = {one.says for one in Paper.named(report.name).claims.values()}
        assert claims <= {finding.claim for finding in report.findings}
        assert not re.search("table (above|below)", text)  # statements stand before all tables


def test_a_recorded_benchmark_has_its_tables_and_machine(tmp_path, capsys):
    path = tmp_path / "record.json"
    words = ["bench", "branch_and_bound", "--quick", "--only", "queens 13", "--backend", "opencl"]
    assert command_line([*words, "--record", str(path)]) == 0
    assert "2,490,838" in capsys.readouterr().out
    report = Report.read(path)
    assert report.source == f"quintet {' '.join(words)}"
    table = next(block for block in report.sections[0].blocks if isinstance(block, Table))
    assert [row[:2] for row in table.rows] == [("queens 13", "2,490,838")]
    assert report.machine["devices"]
    for place in (path, tmp_path / "none" / "record.json"):  # which is there, and which cannot be
        assert command_line([*words, "--record", str(place)]) == 2
        assert "2,490,838" not in capsys.readouterr().out  # it is refused before it begins


PAGES = ("knapsack", "branch-and-bound", "boa", "horseshoe", "linear-programming", "engine")


def test_bars_are_the_numbers_of_the_table(tmp_path):
    package("matplotlib")
    rows = (("CUDA", "a", "1 234 567"), ("", "b", "2.5e3 (2x)"), ("OpenCL", "a", "0.5 to 0.7"), ("OpenCL", "b", "-"))
    report = example()
    report.sections[0].blocks[:] = [Table("Rates", ("backend", "kernel", "cells/s"), rows)]
    about = {"record": "r.json", "table": "Rates", "file": "r.svg", "title": "Rates & more", "unit": "cells/s"}
    plot = Plot(**about, label=["backend", "kernel"], values=["cells/s"], log=True)
    assert bars_of(plot, report) == {"cells/s": {"CUDA, a": 1234567, "CUDA, b": 2500, "OpenCL, a": 0.5}}
    grouped = Plot(**about, label=["kernel"], values=["cells/s"], group="backend", where={"kernel": "a"})
    assert bars_of(grouped, report) == {"CUDA": {"a": 1234567}, "OpenCL": {"a": 0.5}}
    draw_plot(plot, report, tmp_path)
    assert "Rates &amp; more" in (tmp_path / "r.svg").read_text()
    with pytest.raises(InputError, match="no column 'nodes'"):
        bars_of(plot.model_copy(update={"values": ["nodes"]}), report)
    with pytest.raises(InputError, match="has no table"):
        bars_of(plot.model_copy(update={"table": "Other"}), report)


def test_a_written_report_is_read_back_equal_and_what_was_measured_cannot_become_markup(tmp_path):
    report = example()
    report.write(tmp_path)
    assert Report.read(tmp_path / "report.json") == report
    text, page = report.markdown(), report.html()
    for part in ("# A title", "\n## First\n", "| size | sec\\|onds | who |\n|---:|---:|---|", "x\\|y"):
        assert part in text
    assert "| it holds |  | **no** | no |" in text
    assert "| ? |  | not tested | - |" in text
    for part in ('<td class="">&lt;b&gt;</td>', "a &lt; b", '<td class="number">0.5</td>'):
        assert part in page
    assert "<b>" not in page


def test_names_of_reproductions_are_unique_and_each_paper_has_its_claims_with_their_places(capsys):
    names = [name for solver in discover().values() for name in solver.reproductions]
    assert len(names) == len(set(names))
    assert set(PAPERS) <= set(reproductions())
    assert command_line(["reproduce", "--help"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in names)
    assert command_line(["reproduce", "knapsak"]) == 2
    assert "did you mean 'knapsack'" in capsys.readouterr().err
    for name, least in {"boa": 8, "horseshoe": 12, "ivm": 15, "knapsack": 9, "pdas": 8}.items():
        claims = Paper.named(name).claims.values()
        assert len(claims) >= least
        assert all(claim.says and claim.where for claim in claims)
        assert all(claim.quick is None for claim in claims if claim.untestable or claim.needs)


def test_pages_of_benchmarks_are_made_of_the_records_and_show_every_plot():
    assert benchmarks.front() == (ROOT / "BENCHMARKS.md").read_text(encoding="utf-8")
    plots, text = benchmarks.plots(), "".join(map(benchmarks.page, PAGES))
    assert [plot.title for plot in plots if f"![{plot.title}](../images/benchmarks/{plot.file})" not in text] == []
    assert {path.name for path in benchmarks.IMAGES.iterdir()} == {plot.file for plot in plots}
    records = [path for path in benchmarks.RECORDS.glob("*.json") if not path.name.startswith("front")]
    assert {source for path in records if f"\n    {(source := Report.read(path).source)}\n" not in text} == set()
    for machine, doubt in (
        ({"commit": "abc", "load": 1.0, "cores": 2}, ""),
        ({"commit": None, "cores": 2}, "the commit was not recorded"),
        ({"commit": "abc", "load": 19.9, "cores": 8}, "the load was 19.9 on 8 cores"),
    ):
        assert benchmarks.doubt(machine) == doubt


def test_claims_are_judged_once_and_the_others_say_why_not(tmp_path):
    claims = {
        "shown": Claim("It is so", "1"),
        "timed": Claim("It is fast", "2", needs="gpu"),
        "private": Claim("It was so", "3", untestable="the data are private"),
    }
    report = Report("x", "A title", "A paper.", "cpu", describe_machine([]), sections=[Section("First")])
    study = Study(None, report, "cpu", tmp_path, Console(file=StringIO()), claims)
    study.judge("shown", True, "seen")
    study.judge("timed", True, "2 s")
    with pytest.raises(KeyError):
        study.judge("shown", True, "again")
    study.judge_rest()
    study.judge_rest()
    found = [(finding.claim, finding.holds, finding.where) for finding in report.findings]
    assert found == [("It is so", True, "1"), ("It is fast", None, "2"), ("It was so", None, "3")]
    assert "the profile cpu does not test this" in report.findings[1].seen
    assert report.findings[2].seen == "the data are private"


@pytest.mark.parametrize("text", ["", "[]", '{"format": 2}', '{"format": 1, "sections": 3}'])
def test_what_is_not_a_report_is_refused(tmp_path, text):
    (tmp_path / "report.json").write_text(text)
    with pytest.raises(InputError):
        Report.read(tmp_path / "report.json")
