"""The code of a page is run, from its first block to its last, and what it prints and draws is shown under each block.

Blocks of ``python`` share their names, as cells of a notebook do, and the value of a last expression is shown unless a
semicolon ends it. Each line of a ``bash`` block is a ``quintet`` command. All run in an empty folder.

Outputs are kept in ``build/outputs`` under a digest of the page's code and the sources: tests and site run a page once.
``DOCS_RUN`` names the pages whose code is run, with spaces between; by default all are.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import functools
import hashlib
import importlib.util
import io
import json
import os
import re
import shlex
import sys
import tempfile
import textwrap
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "build" / "outputs"
BLOCK = re.compile(r"^(?P<indent> *)```(?P<language>\w+)\n(?P<code>.*?)^(?P=indent)```$", re.DOTALL | re.MULTILINE)
_RUN = ("python", "bash")
_LIMIT = 40


def with_outputs(markdown: str, name: str) -> str:
    """The page, with the output of each block of code under it."""
    chosen = os.environ.get("DOCS_RUN")
    if chosen is not None and name not in chosen.split():
        return markdown
    shown = iter(outputs(markdown, name))
    return BLOCK.sub(lambda block: block[0] + textwrap.indent(_displayed(next(shown)), block["indent"]), markdown)


def outputs(markdown: str, name: str) -> list[dict[str, Any]]:
    """What each block printed (``text``) and drew (``plots``, as SVG); of blocks that are not run, nothing."""
    blocks = [(block["language"], textwrap.dedent(block["code"])) for block in BLOCK.finditer(markdown)]
    if not any(language in _RUN for language, _ in blocks):
        return [{"text": "", "plots": []} for _ in blocks]
    digest = hashlib.sha256(json.dumps([_sources(), blocks]).encode()).hexdigest()
    kept = KEPT / f"{name.replace('/', '-')}.json"
    with contextlib.suppress(OSError, ValueError):
        found = json.loads(kept.read_text(encoding="utf-8"))
        if found["digest"] == digest:
            return list(found["outputs"])
    made = list(_executed(blocks, name))
    KEPT.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps({"digest": digest, "outputs": made}), encoding="utf-8")
    return made


@functools.cache
def _sources() -> str:
    digest = hashlib.sha256()
    for folder in ("engine", "kernels", "samples"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file() and path.suffix != ".pyc":
                digest.update(path.read_bytes())
    return digest.hexdigest()


def _executed(blocks: list[tuple[str, str]], name: str) -> Iterator[dict[str, Any]]:
    names: dict[str, Any] = {"__name__": "page"}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for number, (language, code) in enumerate(blocks, 1):
            text, errors = io.StringIO(), io.StringIO()
            with contextlib.redirect_stdout(text), contextlib.redirect_stderr(errors), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of few draws, and of matplotlib's first import
                try:
                    if language == "python":
                        _python(code, names, f"{name}, block {number}")
                    elif language == "bash":
                        _commands(code)
                except BaseException as error:
                    raise RuntimeError(f"{name}, block {number}: {error!r}\n{code}\n{errors.getvalue()}") from error
            yield {"text": text.getvalue(), "plots": list(_plots())}


def _python(code: str, names: dict[str, Any], file: str) -> None:
    if "import ioh" in code and importlib.util.find_spec("ioh") is None:
        return
    if "matplotlib" in code:
        import matplotlib

        matplotlib.use("agg")
    tree = ast.parse(code)
    shown = bool(tree.body) and isinstance(tree.body[-1], ast.Expr) and not code.rstrip().endswith(";")
    last = tree.body.pop() if shown else None
    exec(compile(tree, file, "exec"), names)
    if isinstance(last, ast.Expr):
        value = eval(compile(ast.Expression(last.value), file, "eval"), names)
        if value is not None:
            print(repr(value))


def _commands(code: str) -> None:
    from engine.cli import command_line

    for line in code.splitlines():
        words = shlex.split(line, comments=True)
        if words[0] != "quintet":
            raise ValueError(f"not a quintet command: {line}")
        if (status := command_line(words[1:])) != 0:
            raise ValueError(f"exit code {status}: {line}")


def _plots() -> Iterator[str]:
    pyplot = sys.modules.get("matplotlib.pyplot")
    for number in pyplot.get_fignums() if pyplot else ():
        picture = io.StringIO()
        pyplot.figure(number).savefig(picture, format="svg", transparent=True, metadata={"Date": None})
        pyplot.close(number)
        yield picture.getvalue()


def _displayed(output: dict[str, Any]) -> str:
    lines = output["text"].rstrip().splitlines()
    if len(lines) > _LIMIT:
        lines = [*lines[:_LIMIT], f"... {len(lines) - _LIMIT} more lines"]
    text = "\n\n``` { .text .output }\n" + "\n".join(line.rstrip() for line in lines) + "\n```" if lines else ""
    for picture in output["plots"]:
        address = base64.b64encode(picture.encode()).decode()
        text += f'\n\n<p><img class="plot" alt="The plot" src="data:image/svg+xml;base64,{address}"></p>'
    return text + "\n" if text else ""
