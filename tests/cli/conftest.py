import subprocess
from pathlib import Path

import pytest

from engine import cli
from tests.support import counting
from tests.support.environment import with_root


@pytest.fixture(autouse=True)
def _quiet_surroundings(monkeypatch, tmp_path):
    """No configuration of this machine, the counting solver on its abacus, and three files to count by."""
    counting.quiet_surroundings(monkeypatch, tmp_path)
    Path("small.txt").write_text(f"count 100 {counting.expected(100)}\n")
    Path("endless.txt").write_text("count 1000000000\n")
    Path("none.txt").write_text("count 0\n")


@pytest.fixture
def quintet(capsys):
    """Run a command line here; gives its exit code, output and error output."""

    def call(*words):
        code = cli.command_line(words)
        output, errors = capsys.readouterr()
        return code, output, errors

    return call


@pytest.fixture
def spawn():
    """Start ``quintet WORDS`` with the counting solver in a process of its own, which is killed at the end."""
    children = []

    def start(*words, **arguments):
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        command = [*counting.QUINTET, *words]
        children.append(subprocess.Popen(command, env=with_root(), text=True, **(pipes | arguments)))
        return children[-1]

    yield start
    for child in children:
        child.kill()
        child.communicate()
