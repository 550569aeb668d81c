"""What MkDocs fills in while it builds the site: outputs of code, tables from the declarations in the source, formulas.

A line ``<!-- generated: NAME ARGUMENTS -->`` in a page is replaced by what the function of that name returns.
``$...$`` and ``$$...$$`` outside code become MathML, which browsers show without scripts. Notebooks become pages.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import names
import yaml
from latex2mathml.converter import convert
from outputs import with_outputs
from pydantic import BaseModel

from engine import errors as all_errors
from engine import events
from engine.base.schema import Schema
from engine.base.solver import Solver
from engine.cli import COMMANDS, cli
from engine.errors import QuintetError, QuintetWarning
from engine.reports.benchmarks import page
from engine.reports.report import Report
from engine.runs.folder import description
from engine.settings.config import Settings
from engine.solvers import solver_named

_PYTHON = "reference/python.md"
_BOOST = {"index": 4, "choose": 4, "install": 4, "troubleshooting": 2, "guides/": 3, "how-to/": 2, "reproduction/": 0}
"""How much a page found by a search counts, by the beginning of its name; 1 by default, and 0: it is not searched."""

_ROOT = Path(__file__).resolve().parents[2]
_MARK = re.compile(r"^<!-- generated: (\w+) ?(.*?) -->$", re.MULTILINE)
_CODE = re.compile(r"(^ *```.*?^ *```$|`[^`\n]+`)", re.DOTALL | re.MULTILINE)
_BLOCK = re.compile(r"\$\$(.+?)\$\$", re.DOTALL)
_ROLE = re.compile(r":\w+:<code>~?([^<]+)</code>")
_INLINE = re.compile(r"(?<![\\$\w])\$([^$\n]+?)\$(?!\w)")


def on_config(config: Any) -> Any:
    """Leave out of the navigation what does not exist, and add the pages of the public names."""
    config.nav = list(_existing(config.nav))
    (reference,) = (entry["Reference"] for entry in config.nav if "Reference" in entry)
    pages = {title: [f"reference/python/{name}.md" for name, *_ in found] for title, found in names.groups().items()}
    reference[reference.index(_PYTHON)] = {"Python": [_PYTHON, *({title: listed} for title, listed in pages.items())]}
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add a page for each notebook and each public name."""
    from mkdocs.structure.files import File

    for path in sorted((_ROOT / "docs" / "notebooks").glob("*.ipynb")):
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=notebook(path)))
    for name, place, *_ in names.public():
        files.append(File.generated(config, f"reference/python/{name}.md", content=names.page(name, place)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Run the code of a page, fill in its generated parts, and convert its formulas."""
    boost = next((boost for start, boost in _BOOST.items() if page.file.src_uri.startswith(start)), 1)
    page.meta.setdefault("search", {"boost": boost} if boost else {"exclude": True})
    return with_formulas(generated(with_outputs(markdown, page.file.src_uri)))


def generated(markdown: str) -> str:
    """The page with its generated parts."""
    return _MARK.sub(lambda found: GENERATED[found[1]](*found[2].split()), markdown)


def notebook(path: Path) -> str:
    """A notebook as Markdown: its cells, and a link to the file."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    texts = [("".join(cell["source"]), cell["cell_type"]) for cell in cells]
    parts = [f"```python\n{text}\n```" if kind == "code" else text for text, kind in texts]
    return "\n\n".join([*parts, f"This page as a notebook: [{path.name}]({path.name})."])


def on_page_content(html: str, **_: Any) -> str:
    """Sphinx's roles, which docstrings use, as plain code."""
    return _ROLE.sub(r"<code>\1</code>", html)


def with_formulas(markdown: str) -> str:
    """The page with its formulas as MathML; code is left as it is."""
    parts = _CODE.split(markdown)
    for index in range(0, len(parts), 2):
        parts[index] = _BLOCK.sub(_displayed, parts[index])
        parts[index] = _INLINE.sub(_in_a_line, parts[index])
    return "".join(parts)


def _displayed(found: re.Match[str]) -> str:
    return f'\n<div class="formula">{convert(found[1].strip(), display="block")}</div>\n'


def _in_a_line(found: re.Match[str]) -> str:
    """In a span: at the start of a line, Markdown would take ``<math>`` for a block and end the paragraph."""
    return f"<span>{convert(found[1])}</span>"


def _existing(entries: list[Any]) -> Iterator[Any]:
    for entry in entries:
        for title, inside in entry.items() if isinstance(entry, dict) else [("", entry)]:
            if not isinstance(inside, str):
                yield {title: list(_existing(inside))}
            elif (path := _ROOT / "docs" / inside).exists() or path.with_suffix(".ipynb").exists():
                yield {title: inside} if title else inside


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; line ends and bars in cells are escaped."""
    cells = [[cell.replace("\n", " ").replace("|", "\\|") for cell in row] for row in rows]
    lines = [columns, ["---"] * len(columns), *cells]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def included(path: str) -> str:
    """A file of the repository; its links to files of the site are corrected."""
    return (_ROOT / path).read_text(encoding="utf-8").replace("](docs/", "](")


def options(solver: str) -> str:
    """The options of a solver, by problem class where they differ."""
    found = solver_named(solver)
    tables = []
    for problems, model in _models(found):
        heading = f"Options of `{'`, `'.join(problems)}`:\n\n" if len(found.option_models) > 1 else ""
        tables.append(heading + _fields(model))
    return "\n\n".join(tables)


def _models(solver: Solver) -> list[tuple[list[str], type[BaseModel]]]:
    return [
        ([problem.__name__ for problem in solver.instance_classes if solver.options_model(problem) is model], model)
        for model in solver.option_models
    ]


def _fields(model: type[BaseModel]) -> str:
    schema = model.model_json_schema()
    rows = []
    for own, field in model.model_fields.items():
        name = field.alias or own
        rows.append(
            [f"`{name}`", _values(schema["properties"][name], schema), _default(field), field.description or ""]
        )
    return table(("name", "values", "default", "meaning"), rows)


def _default(field: Any) -> str:
    if field.is_required():
        return "required"
    value = field.default
    return "" if value in (None, "", [], {}) else f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _values(schema: dict[str, Any], root: dict[str, Any]) -> str:
    """The values that a field takes, as text."""
    if "$ref" in schema:
        return _values(root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    if "anyOf" in schema:
        return " or ".join(_values(choice, root) for choice in schema["anyOf"] if choice.get("type") != "null")
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    kind = {"boolean": "yes or no", "integer": "integer", "number": "number", "string": "text", "array": "list"}
    text = kind.get(schema.get("type", ""), "object")
    limits = {"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<"}
    bounds = [f"{sign} {schema[name]:.6g}" for name, sign in limits.items() if name in schema]
    return " ".join([text, *bounds])


def reproductions() -> str:
    """The reports in ``docs/reproduction``, and what they confirm."""
    rows = []
    for path in sorted((_ROOT / "docs" / "reproduction").glob("*/report.json")):
        report = Report.read(path)
        counts = [sum(finding.holds is kind for finding in report.findings) for kind in (True, False, None)]
        devices = ", ".join(dict.fromkeys(device["name"] for device in report.machine["devices"]))
        link = f"[{report.title}]({path.parent.name}/report.md)"
        rows.append([link, devices, report.machine["date"], *map(str, counts)])
    return table(("report", "device", "date", "confirmed", "not confirmed", "not tested"), rows)


def claims() -> str:
    """The statements of each paper, where they stand, and whether its reports confirmed them."""
    papers: dict[str, dict[str, Report]] = {}
    for path in sorted((_ROOT / "docs" / "reproduction").glob("*/report.json"), reverse=True):
        report = Report.read(path)
        papers.setdefault(report.title, {})[{"gpu": "on a GPU", "cpu": "on two cores"}[report.profile]] = report
    parts = []
    for title, reports in sorted(papers.items()):
        verdicts = {True: "yes", False: "**no**", None: "not tested"}
        found = [{one.claim: verdicts[one.holds] for one in report.findings} for report in reports.values()]
        places = {one.claim: one.where for report in reports.values() for one in report.findings}
        rows = [[claim, where, *(of.get(claim, "") for of in found)] for claim, where in places.items()]
        parts.append(f"### {title}\n\n{table(('statement', 'where', *reports), rows)}")
    return "\n\n".join(parts)


def record(file: str) -> str:
    """The tables and lines of a record of ``docs/records``."""
    blocks = [block for section in Report.read(_ROOT / "docs" / "records" / file).sections for block in section.blocks]
    parts = [table(block.columns, block.rows) if block.kind == "table" else f"- {block.text}" for block in blocks]
    return "\n\n".join(parts)


def benchmarks(name: str) -> str:
    """A page of the records of measurements."""
    return page(name)


def run_description() -> str:
    """The fields of a run folder's ``run.toml``."""
    parts = [("Of `run.toml`:", description.Description), ("Of its table `[problem]`:", description.DescribedProblem)]
    return "\n\n".join(f"{title}\n\n{_fields(model)}" for title, model in parts)


def settings() -> str:
    """The settings of a run."""
    return _fields(Settings)


def results(solver: str) -> str:
    """The arrays and counters of a solver's results."""
    schema: Schema | None = solver_named(solver).schema
    if schema is None:
        return ""
    arrays = [
        [f"`{spec.name}`", _shape(spec.shape), spec.dtype, spec.title + (f" ({spec.unit})" if spec.unit else "")]
        for spec in schema.arrays
    ]
    history = [[f"`{spec.name}`", spec.title, spec.unit] for spec in schema.history]
    counters = [[f"`{spec.name}`", spec.title, spec.unit] for spec in schema.counters]
    parts = ["Arrays (`result.arrays`):\n\n" + table(("name", "shape", "type", "content"), arrays)]
    if history:
        parts.append('Columns of `result.arrays["history"]`:\n\n' + table(("name", "content", "unit"), history))
    parts.append("Counters (`result.counters`):\n\n" + table(("name", "content", "unit"), counters))
    return "\n\n".join(parts)


def _shape(shape: Any) -> str:
    return "any" if shape is None else f"({', '.join('*' if size is None else str(size) for size in shape)})"


def metrics(solver: str) -> str:
    """The live series of a solver."""
    rows = [
        [f"`{spec.name}`", spec.title, spec.unit, "device" if spec.per_device else "run"]
        for spec in solver_named(solver).metrics
    ]
    return table(("name", "content", "unit", "of each"), rows)


def problems() -> str:
    """README's table of problems, their classes and guides."""
    return "\n".join(line for line in included("README.md").split("## ")[0].splitlines() if line.startswith("|"))


def errors() -> str:
    """Every error with its exit code, meaning and remedy."""
    rows = [[*row[:1], str(kind.exit_code), *row[1:]] for kind, row in _kinds(QuintetError)]
    return table(("error", "exit code", "meaning", "what to do"), rows)


def warnings() -> str:
    """Every warning with its meaning and remedy."""
    return table(("warning", "meaning", "what to do"), [row for _, row in _kinds(QuintetWarning)])


def _kinds(base: Any) -> Iterator[tuple[Any, list[str]]]:
    for name in sorted(all_errors.__all__):
        kind = getattr(all_errors, name)
        if isinstance(kind, type) and issubclass(kind, base) and kind is not base:
            yield kind, [f"`{name}`", names.first_sentence(kind.__doc__ or ""), kind.remedy]


def citations() -> str:
    """The software and the papers of ``CITATION.cff`` as BibTeX."""
    cited = yaml.safe_load((_ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    entries = [_bibtex("quintet", cited, "software")]
    for paper in cited["references"]:
        key = f"{paper['authors'][0]['family-names'].lower().replace(' ', '')}{paper.get('year', '')}"
        entries.append(_bibtex(key, paper, paper["type"]))
    return "```text\n" + "\n\n".join(entries) + "\n```"


def _bibtex(key: str, entry: dict[str, Any], kind: str) -> str:
    people = " and ".join(author.get("family-names") or f"{{{author['name']}}}" for author in entry["authors"])
    places = {
        "journal": "journal",
        "collection-title": "booktitle",
        "volume": "volume",
        "year": "year",
        "version": "version",
    }
    fields = {"author": people, "title": entry["title"]} | {
        place: entry[name] for name, place in places.items() if name in entry
    }
    kinds = {"article": "article", "conference-paper": "inproceedings", "report": "techreport"}
    lines = ",\n".join(f"  {name} = {{{value}}}".replace(" & ", " \\& ") for name, value in fields.items())
    return f"@{kinds.get(kind, 'misc')}{{{key},\n{lines}\n}}"


def event_types() -> str:
    """Every event with its fields."""
    parts = []
    for name in events.__all__:
        model = getattr(events, name)
        if not (isinstance(model, type) and issubclass(model, BaseModel)):
            continue
        schema = model.model_json_schema()
        rows = []
        for field, facts in model.model_fields.items():
            default = (
                "required" if facts.is_required() else f"`{json.dumps(facts.get_default(call_default_factory=True))}`"
            )
            rows.append([f"`{field}`", _values(schema["properties"][field], schema), default])
        text = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", (model.__doc__ or "").replace("``", "`"))
        text = "\n".join(line.strip() for line in text.splitlines())
        parts.append(
            f"### {model.model_fields['type'].default}\n\n{text}\n\n{table(('field', 'values', 'default'), rows)}"
        )
    return "\n\n".join(parts)


def command_line() -> str:
    """Every command with its arguments and options."""
    context = click.Context(cli, info_name="quintet")
    parts = []
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None
        inner = click.Context(command, info_name=name, parent=context)
        usage = " ".join([inner.command_path, *command.collect_usage_pieces(inner)])
        rows = [
            [f"`{', '.join([*option.opts, *option.secondary_opts])}{_metavar(option, inner)}`", option.help or ""]
            for option in command.params
            if isinstance(option, click.Option) and not option.hidden
        ]
        text = " ".join((command.help or "").split())
        parts.append(f"## quintet {name}\n\n{text}\n\n```text\n{usage}\n```\n\n{table(('option', 'meaning'), rows)}")
    return "\n\n".join(parts)


def _metavar(option: click.Option, context: click.Context) -> str:
    return "" if option.is_flag or option.count else f" {option.make_metavar(context)}"


def template(name: str) -> str:
    """A kernel template as it is."""
    return f"```text\n{(_ROOT / 'kernels' / f'{name}.mako').read_text(encoding='utf-8').rstrip()}\n```"


GENERATED: dict[str, Callable[..., str]] = {
    function.__name__: function
    for function in (
        benchmarks,
        citations,
        command_line,
        errors,
        event_types,
        included,
        metrics,
        options,
        problems,
        names.index,
        record,
        reproductions,
        claims,
        results,
        run_description,
        settings,
        template,
        warnings,
    )
}
