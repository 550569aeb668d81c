"""Other solvers beside ours in ``quintet bench linprog``: what they claim is compared, and what is wrong is said."""

import sys
from pathlib import Path

import pytest
from rich.console import Console

from engine.api.engine import Engine
from engine.benchmarks.linprog.collection import bench_collection, programs
from engine.benchmarks.linprog.peers import peers
from engine.errors import OptionError

PDLP = """#!{python}
import pathlib, sys
value = 1.0 if "0.0001" in sys.argv else 20.0
folder = pathlib.Path(sys.argv[-1])
assert pathlib.Path(sys.argv[-2]).read_text().startswith("NAME")
folder.joinpath("x_summary.txt").write_text(
    "Termination Reason: OPTIMAL\\nRuntime (sec): 2.5e-01\\nPrimal Objective Value: %r\\n" % value)
"""


@pytest.fixture
def folder(tmp_path):
    """A set of one program, min x0 + x1 with x0 + x1 = 20."""
    path = tmp_path / "set"
    path.mkdir()
    (path / "two.mps").write_text(
        "NAME two\nROWS\n N  cost\n E  r\nCOLUMNS\n    x cost 1.0\n    x r 1.0\n    y cost 1.0\n    y r 1.0\n"
        "RHS\n    RHS r 20.0\nENDATA\n"
    )
    (path / "optima.csv").write_text("name,highs_optimum\ntwo,20.0\n")
    return path


def test_claims_that_are_wrong_are_said_and_count_as_the_limit(device, folder, tmp_path, monkeypatch):
    program = tmp_path / "pdlp"
    program.write_text(PDLP.format(python=sys.executable))
    program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    others = list(peers(0, None, Path("pdlp")))
    console = Console(record=True, width=200)
    with Engine(devices=[device.info.id]) as engine:
        assert bench_collection(engine, programs(folder, False, True), ["auto"], others, 5.0, console)
    text = console.export_text()
    assert "cuPDLPx 1e-4 0.25 (wrong by 9e-01), cuPDLPx 1e-8 0.25" in text
    rows = {row[0]: row[1:] for line in text.split("\n") if (row := [cell.strip() for cell in line.split("│")[1:-1]])}
    assert rows["cuPDLPx 1e-4"][:5] == ["0", "1", "0", "5.00", "5.00"]
    assert rows["cuPDLPx 1e-8"][:5] == ["1", "0", "0", "0.25", "0.25"]


def test_a_library_that_gives_no_answer_is_said_and_one_that_is_missing_is_refused(device, tmp_path, folder):
    with pytest.raises(OptionError, match="has no library of cuOpt"):
        list(peers(0, tmp_path, None))
    library = tmp_path / "libcuopt_mathopt" / "lib64" / "libcuopt_mathopt.so"
    library.parent.mkdir(parents=True)
    library.write_bytes(b"no library")
    console = Console(record=True, width=200)
    with Engine(devices=[device.info.id]) as engine:
        others = list(peers(0, tmp_path, None))
        assert bench_collection(engine, programs(folder, False, True), ["auto"], others, 1.0, console)
    assert "cuOpt 1.00 (no answer), cuOpt barrier 1.00 (no answer)" in console.export_text()
