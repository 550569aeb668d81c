import json
import os
import signal
import subprocess
import sys

from engine.runs.folder.run_folder import RunFolder
from tests.support.environment import ROOT, with_root
from tests.support.patience import PATIENCE, wait_until


def test_ctrl_c_in_a_terminal_ends_the_run_and_not_its_workers(cpu, tmp_path):
    path = tmp_path / "queens.txt"
    path.write_text((ROOT / "samples" / "branch_and_bound" / "queens-14.txt").read_text().replace("14", "18"))
    folder = tmp_path / "run"
    words = [sys.executable, "-m", "engine", "solve", str(path), "--cluster", "local:1", "--backend", "opencl"]
    words += ["--devices", cpu, "--run-folder", str(folder)]
    events = folder / "events.jsonl"
    with subprocess.Popen(
        words, env=with_root(), cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    ) as child:
        try:
            wait_until(lambda: events.exists() and '"nodes_per_second"' in events.read_text(), "the run does not begin")
            os.killpg(child.pid, signal.SIGINT)
            output = child.communicate(timeout=5 * PATIENCE)[0].decode()
        finally:
            child.kill()
    assert "Traceback" not in output
    assert "interrupted" in output
    kept = RunFolder.open(folder).checkpoint()
    assert kept is not None
    assert not [
        line for line in events.read_text().splitlines() if "computed again" in json.loads(line).get("message", "")
    ]
