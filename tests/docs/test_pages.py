"""The code in the documentation is executed, page by page, and the site's links and generated parts exist."""

import re
import tomllib
from pathlib import Path

import pytest

import engine
from tests.support.needs import opencl_device, package

package("latex2mathml")
import outputs  # noqa: E402 - of docs/hooks, which pyproject.toml puts on the path
import pages  # noqa: E402

ROOT = Path(__file__).parents[2]

PAGES = sorted((ROOT / "docs").rglob("*.md"))
NAMES = [path.relative_to(ROOT / "docs").as_posix() for path in PAGES]
TEXTS = {name: path.read_text(encoding="utf-8") for name, path in zip(NAMES, PAGES, strict=True)}
TEXTS |= {f"notebooks/{path.stem}.md": pages.notebook(path) for path in sorted(ROOT.glob("docs/notebooks/*.ipynb"))}
CODE = [name for name, text in TEXTS.items() if re.search(r"```(python|bash)$", text, re.MULTILINE)]


@pytest.mark.few(4)
@pytest.mark.parametrize("name", CODE)
def test_the_code_of_a_page_runs_in_order(name):
    opencl_device()
    assert outputs.outputs(TEXTS[name], name)


def test_a_page_whose_code_fails_is_named_with_the_block():
    with pytest.raises(RuntimeError, match=r"(?s)some.md, block 2: ZeroDivisionError.*1 / 0"):
        outputs.outputs("```text\n\n```\n\n```python\n1 / 0\n```\n", "some.md")
    with pytest.raises(RuntimeError, match=r"exit code 2: quintet solve absent.txt"):
        outputs.outputs("```bash\nquintet solve absent.txt\n```\n", "some.md")


def test_what_code_prints_its_last_value_and_its_plots_are_shown_under_it(tmp_path, monkeypatch):
    monkeypatch.setattr(outputs, "KEPT", tmp_path)
    package("matplotlib")
    tab = '=== "Python"\n\n    ```python\n    print(1)\n    [2]\n    ```\n\n'
    tab += "```python\nimport matplotlib.pyplot as p\np.plot([1, 2]);\n```\n"
    page = outputs.with_outputs(tab, "some.md")
    assert "    ``` { .text .output }\n    1\n    [2]\n    ```\n" in page
    assert page.count("data:image/svg+xml;base64,") == 1
    assert "Line2D" not in page
    assert outputs.with_outputs(tab, "some.md") == page
    monkeypatch.setenv("DOCS_RUN", "other.md")
    assert outputs.with_outputs(tab, "some.md") == tab


@pytest.mark.parametrize("name", NAMES)
def test_blocks_have_a_language_links_lead_to_files_and_generated_parts_are_made(name):
    assert "<!-- generated:" not in pages.generated(TEXTS[name])
    for block in outputs.BLOCK.finditer(TEXTS[name]):
        assert block["language"] in ("python", "bash", "toml", "text", "json")
        if block["language"] == "toml":
            tomllib.loads(block["code"])
    text = outputs.BLOCK.sub("", TEXTS[name])
    assert "```" not in text
    made = [f"notebooks/{path.stem}.md" for path in ROOT.glob("docs/notebooks/*.ipynb")]
    made += [f"reference/python/{public}.md" for public, *_ in pages.names.public()]
    for target in re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", text):
        path = (ROOT / "docs" / name).parent / target
        assert path.exists() or any(str(path).endswith(one) for one in made), target


def test_every_solver_is_in_the_reference_of_options_and_has_a_notebook():
    solvers = set(engine.available_solvers()) - {"counting"}
    text = (ROOT / "docs" / "reference" / "options.md").read_text(encoding="utf-8")
    assert set(re.findall(r"generated: options (\w+)", text)) == solvers
    assert sum(name.startswith("notebooks/") and name in CODE for name in TEXTS) == len(solvers)


def test_every_error_and_every_warning_has_a_remedy_of_its_own():
    kinds = [*pages._kinds(engine.QuintetError), *pages._kinds(engine.QuintetWarning)]
    assert len(kinds) > 20
    assert [row[0] for kind, row in kinds if not vars(kind).get("remedy") or len(row[1]) < 20] == []
