"""Where a run is computed: this computer, an address, or a saved cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import platformdirs
import pytest
from environment import COUNTING
from interaction import load


@pytest.fixture
def window(open_window: Any, counting_files: Path) -> Any:
    return open_window(COUNTING)


def test_the_chosen_cluster_is_in_the_command_and_the_code(qtbot: Any, window: Any, counting_files: Path) -> None:
    load(qtbot, window, counting_files / "small.txt")
    bar = window.tool_bar
    assert bar.cluster is None
    assert "cluster" not in bar.given()
    bar.place.setCurrentText("tcp://host:8786")
    assert bar.given()["cluster"] == "tcp://host:8786"
    assert "--cluster tcp://host:8786" in window.pane.command_text()
    assert "cluster='tcp://host:8786'" in window.pane.python_text()
    bar.set_values({"cluster": None})
    assert bar.cluster is None


def test_a_run_is_resumed_where_it_was_started() -> None:
    from gui.problem.command_line import resume_words

    assert resume_words("runs/one", "local:2") == ["resume", "runs/one", "--cluster", "local:2"]
    assert resume_words("runs/one") == ["resume", "runs/one"]


def test_saved_clusters_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from engine.clusters import saved_clusters

    monkeypatch.setattr(platformdirs, "user_config_dir", lambda *names, **more: str(tmp_path))
    assert saved_clusters() == {}
    (tmp_path / "clusters").mkdir()
    (tmp_path / "clusters" / "hall.toml").write_text('kind = "address"\naddress = "tls://host:8786"\n')
    assert saved_clusters() == {"hall": tmp_path / "clusters" / "hall.toml"}
