"""The README's Python blocks are executed in order, and the commands it lists exist."""

import contextlib
import io
import re
from pathlib import Path

from engine.cli import COMMANDS
from tests.support.needs import opencl_device

TEXT = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```(?:\n\n```text\n(.*?)^```)?", TEXT, re.DOTALL | re.MULTILINE)
"""The code of each block, and what the text block below it says that it prints."""


def test_python_blocks_run_in_order(tmp_path, monkeypatch):
    opencl_device()
    monkeypatch.chdir(tmp_path)
    names = {}
    assert len(BLOCKS) >= 2
    for block, printed in BLOCKS:
        with contextlib.redirect_stdout(io.StringIO()) as shown:
            exec(compile(block, "README.md", "exec"), names)
        assert not printed or shown.getvalue() == printed
    assert any(printed for _, printed in BLOCKS)


def test_every_command_it_names_exists():
    named = set(re.findall(r"\bquintet ([a-z]+)", TEXT.split("## Command line")[1]))
    assert {"solve", "resume", "gui"} <= named <= set(COMMANDS)
