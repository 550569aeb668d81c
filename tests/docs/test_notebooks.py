"""The notebooks, one for each solver, run from the first cell to the last."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest

import engine
from tests.support.needs import opencl_device, package

NOTEBOOKS = sorted((Path(__file__).parents[2] / "docs" / "notebooks").glob("*.ipynb"))


@pytest.mark.full
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_cells_of_a_notebook_run_in_order(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    matplotlib = package("matplotlib")
    opencl_device()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of matplotlib's first import
        matplotlib.use("agg")
        import matplotlib.pyplot as plt
    if "horseshoe" in path.stem:
        package("sklearn")
    monkeypatch.chdir(tmp_path)
    notebook = json.loads(path.read_text(encoding="utf-8"))
    names: dict[str, Any] = {"__name__": "notebook"}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            exec(compile("".join(cell["source"]), str(path), "exec"), names)
    plt.close("all")


def test_there_is_a_notebook_for_each_solver() -> None:
    assert len(NOTEBOOKS) == len([name for name in engine.available_solvers() if name != "counting"])
