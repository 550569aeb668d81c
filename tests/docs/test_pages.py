"""The code in the documentation is executed, page by page, and the site's links and generated parts exist."""

from __future__ import annotations

import importlib.util
import re
import shlex
import tomllib
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import engine
from engine.cli import command_line
from tests.support.needs import opencl_device, package

ROOT = Path(__file__).parents[2]
PAGES = sorted(path for path in (ROOT / "docs").rglob("*.md"))
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
NAMES = [path.relative_to(ROOT / "docs").as_posix() for path in PAGES]


def blocks(path: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(path.read_text(encoding="utf-8"))


def hooks() -> ModuleType:
    package("latex2mathml")
    spec = importlib.util.spec_from_file_location("pages", ROOT / "docs" / "hooks" / "pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.few(4)
@pytest.mark.parametrize("path", [page for page in PAGES if blocks(page)], ids=lambda p: p.stem)
def test_the_code_of_a_page_runs_in_order(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opencl_device()
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "page"}
    for language, code in blocks(path):
        if language == "python":
            if "Classifier" in code:
                package("sklearn")
            if "import ioh" in code and importlib.util.find_spec("ioh") is None:
                continue
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "the chains have not mixed")
                exec(compile(code, str(path), "exec"), names)
        elif language == "bash":
            for line in code.splitlines():
                words = shlex.split(line, comments=True)
                assert words[0] == "quintet", line
                assert command_line(words[1:]) == 0, f"{line}\n{capsys.readouterr().err}"
        elif language == "toml":
            tomllib.loads(code)
        else:
            assert language == "text", f"{path}: a block must be python, bash, toml or text; got {language!r}"


@pytest.mark.parametrize("path", PAGES, ids=NAMES)
def test_links_lead_to_files(path: Path) -> None:
    text = BLOCK.sub("", path.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", text):
        assert (path.parent / target).exists(), f"{path}: {target}"


@pytest.mark.parametrize("path", PAGES, ids=NAMES)
def test_generated_parts_are_made(path: Path) -> None:
    module = hooks()
    page = module.on_page_markdown(path.read_text(encoding="utf-8"))
    assert "<!-- generated:" not in page


def test_formulas_become_mathml_and_code_stays() -> None:
    page = hooks().with_formulas("a $x^2$ b `$y$`\n\n$$ z $$\n\n```text\n$w$\n```\n")
    assert "<msup>" in page
    assert page.count("<math") == 2
    assert "`$y$`" in page
    assert "\n$w$\n" in page


def test_every_solver_is_in_the_reference_of_options() -> None:
    text = (ROOT / "docs" / "reference" / "options.md").read_text(encoding="utf-8")
    assert set(re.findall(r"generated: options (\w+)", text)) == set(engine.available_solvers()) - {"counting"}
