"""What the files of the engine import."""

import re
from pathlib import Path

import engine

ENGINE = Path(engine.__file__).parent


def test_imports_inside_the_engine_are_relative_and_its_strings_name_no_module_of_it():
    absolute = re.compile(r"""^\s*(from engine[. ]|import engine\b)|["']engine(\.\w+)+["']""", re.MULTILINE)
    code = re.compile(r'(?s)r?""".*?"""')  # not what docstrings show
    found = [str(path) for path in ENGINE.rglob("*.py") if absolute.search(code.sub("", path.read_text("utf-8")))]
    assert found == []
