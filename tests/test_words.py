"""One word for one thing: the words that the field's terms have replaced are not used again."""

import ast
import inspect
import re
from pathlib import Path

import pytest

from tests.support.public_names import members

ROOT = Path(__file__).parents[1]

TEXTS = {
    r"farm(s|ed|ing)?": "division, divided (farmer, the option, is the paper's word)",
    r"forecast(s|er)?": "estimate",
    r"put_later": "copy_async",
    r"sitting": "session",
    r"teller": "emit, publish",
    r"parcels?": "message",
    r"portrait": "snapshot",
    r"tickets?": "dynamic work queue",
    r"twins?": "reference",
    r"stand-ins?": "Gaussian approximation",
    r"ways_out|digester|handing_on|letting ?go": "export, postprocess, resume, cleanup",
    r"crews?": "device groups, cluster",
    r"slice ?(run|worker|context|control)s?": "task runner, task context",
    r"judgements?": "audit outcome",
    r"is told|are told|was told": "is reported",
    r"stated optim(um|a)|known maximum": "known optimum",
}
"""Words that no text has, with what is said instead; of letters of any case."""

SENTENCES = {
    r"those of": "name the thing again",
    r"(is|are|was|be) told": "is reported",
    r"as ever": "as before, as usual",
    r"from \d[\d ]*( \w+)? on": "from ... or more; counted from",
    r"what (the|its|a) \w+ (has|takes)": "name it",
    r"our (methods?|own)|ours": "Quintet's",
}
"""Turns of phrase that readers stumbled over: not in what users read."""

NAMES = re.compile(
    "_*(alike|crew|hand_over|lose|news|beside|leave_out|each_once|beside_gpus|take_devices|lack|forth|"
    "Later|Parcel|Passage|Settled|News|Case|Judgement|Looks|Place|LettingGo|Lack|Recorder|Farm|FarmedRun|"
    "aim|aside|calm|said|go|party|meet|weigh|lane|portrait|told)_*"
)
"""Words that no function and no class has as its name, underscores aside; in a text they may be plain."""


def texts():
    paths = [ROOT / name for name in ("README.md", "CONTRIBUTING.md")]
    patterns = {"engine": "*.py", "gui": "*.py", "kernels": "*.mako", "docs": "*.md", "samples": "*.toml"}
    for folder, pattern in patterns.items():
        paths += sorted((ROOT / folder).rglob(pattern))
    return paths


@pytest.mark.smoke
def test_the_field_s_words_have_replaced_the_old_ones():
    old = re.compile(rf"\b({'|'.join(TEXTS)})\b", re.I)
    found = [
        f"{path.relative_to(ROOT)}, line {number}: {hit[0]}"
        for path in texts()
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1)
        for hit in old.finditer(line)
    ]
    assert found == []


def read_by_users(heavy):
    """Places and texts: the documentation, samples, docstrings of public names, and messages and help in the source."""
    for path in texts():
        name = path.relative_to(ROOT).as_posix()
        if path.suffix in (".md", ".toml") and not name.startswith("docs/reproduction"):
            yield name, path.read_text(encoding="utf-8")
        elif path.suffix == ".py" and not name.startswith("engine/reproductions"):
            text = path.read_text(encoding="utf-8")
            if not heavy.search(re.sub(r"(?:\bf(?=[\"'])|[\"'\s]|\\n)+", " ", text)):  # to read it as code takes long
                continue
            nodes = list(ast.walk(ast.parse(text)))
            alone = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}  # docstrings among them
            for node in nodes:
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone:
                    yield f"{name}, line {node.lineno}", node.value
    for name, found in members():
        yield name, inspect.getdoc(found) or ""


@pytest.mark.smoke
def test_what_users_read_is_plain():
    heavy = re.compile(rf"\b({'|'.join(SENTENCES)})\b", re.I)
    assert heavy.search("Results are those of one device")
    assert heavy.search("taken from 128 rows on")
    found = [
        f"{place}: {hit[0]}"
        for place, text in read_by_users(heavy)
        for hit in heavy.finditer(re.sub(r"```.*?```", "", text, flags=re.DOTALL).replace("\n", " "))
    ]
    assert found == []


@pytest.mark.smoke
def test_no_function_and_no_class_has_an_old_name():
    named = re.compile(r"^\s*(?:async def|def|class) (\w+)", re.MULTILINE)
    found = [
        f"{path.relative_to(ROOT)}: {name}"
        for folder in ("engine", "gui")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for name in named.findall(path.read_text(encoding="utf-8"))
        if NAMES.fullmatch(name)
    ]
    assert found == []
