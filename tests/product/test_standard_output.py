"""Standard output belongs to the user: the whole of both descriptors of real processes."""

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def outputs(*words):
    """What a process that succeeds writes to its descriptors 1 and 2."""
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_a_script_that_calls_linprog_prints_what_it_prints():
    program = "import engine; print(round(engine.linprog([-1, -2], A_ub=[[1, 1]], b_ub=[4]).fun, 6))"
    assert outputs(sys.executable, "-c", program) == ("-8.0\n", "")


def test_nothing_else_makes_objects_of_highs():
    makers = {
        str(path.relative_to(ROOT))
        for folder in ("engine", "quintet", "gui")
        for path in (ROOT / folder).rglob("*.py")
        if "ighs" in (text := path.read_text())
        for node in ast.walk(ast.parse(text))
        if (isinstance(node, ast.Attribute) and node.attr in ("Highs", "_Highs"))
        or (isinstance(node, ast.alias) and node.name in ("Highs", "_Highs"))
    }
    assert makers == {"engine/util/quirks/highspy_banner.py"}
