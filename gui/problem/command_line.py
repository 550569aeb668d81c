"""The command line and the Python code that are equivalent to what the app does."""

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from engine.settings.config import Settings
from engine.solvers import discover
from engine.util.text import option_text
from gui.problem.instance import AS, Instance
from gui.runs.notes import RunNote


def solve_words(path: str | Path, settings: Mapping[str, Any], options: Mapping[str, Any]) -> list[str]:
    """The words after ``quintet`` that solve a file with these settings and options; None is written ``none``."""
    return ["solve", str(path), *option_words({**settings, **options})]


def generate_words(kind: str, options: Mapping[str, Any], path: str | Path) -> list[str]:
    """The words after ``quintet`` that generate an instance."""
    return ["generate", kind, *option_words(options), "--output", str(path)]


def option_words(options: Mapping[str, Any]) -> list[str]:
    """Settings and options as words of a command line."""
    words: list[str] = []
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if isinstance(value, bool):
            words.append(option if value else f"--no-{option[2:]}")
        elif name == "devices":
            for device in value:
                words += [option, str(device)]
        else:
            words += [option, option_text(value)]
    return words


def resume_words(folder: str | Path, settings: Mapping[str, Any]) -> list[str]:
    """The words after ``quintet`` that resume a run folder where the run was started: here, on a cluster or a host."""
    return ["resume", str(folder), *option_words({k: settings[k] for k in ("cluster", "host") if settings.get(k)})]


def command_line(path: Path, settings: dict[str, Any], options: dict[str, Any]) -> str:
    """The equivalent command line, quoted for a shell."""
    return shlex.join(["quintet", *solve_words(path, settings, options)])


def command_of(note: RunNote) -> str:
    """The command line that makes a run again, from its file or else from the problem that its folder keeps."""
    settings, options = chosen(note.solver, "", {**note.settings, "seed": note.seed}, note.options)
    return command_line(
        Path(note.source or note.folder), settings, {**(note.reading if note.source else {}), **options}
    )


def commands_of(notes: Sequence[RunNote]) -> str:
    """The command lines of several runs."""
    return "\n".join(command_of(note) for note in notes)


def chosen(
    solver: str, problem: str, settings: Mapping[str, Any], options: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The seed, and the settings and options that differ from their defaults, as the commands name them."""
    usual = Settings().model_dump(mode="json")
    named = {
        name: value
        for name, value in settings.items()
        if value is not None and (name == "seed" or (name != "run_folder" and name in usual and value != usual[name]))
    }
    declared = discover().get(solver)
    models = []
    if declared is not None:
        models = [declared.options_model(kind) for kind in declared.instance_classes if kind.__name__ == problem]
        models += [model for model in declared.option_models if options.keys() <= model.model_fields.keys()]
    defaults = models[0]().model_dump(mode="json") if models else {}
    return named, {name: value for name, value in options.items() if name not in defaults or value != defaults[name]}


def call_of(problem: str, settings: Mapping[str, Any], options: Mapping[str, Any]) -> str:
    """The Python call that solves a problem, an expression, with these settings and options."""
    arguments = "".join(f", {name}={value!r}" for name, value in {**settings, **options}.items())
    return f"engine.solve({problem}{arguments})"


def python_snippet(instance: Instance, settings: dict[str, Any], options: dict[str, Any]) -> str:
    """The equivalent Python code, on this computer or a cluster."""
    settings = {name: value for name, value in settings.items() if name != "host"}  # which only the command line has
    arguments = "".join(f",\n    {name}={value!r}" for name, value in (*settings.items(), *options.items()))
    call = f"engine.solve(problem{arguments},\n)" if arguments else "engine.solve(problem)"
    source = repr(str(instance.source))
    reading = "".join(f", {name}={value!r}" for name, value in instance.reading.items() if name != AS)
    read = f"engine.{type(instance.problem).__name__}.read({source}{reading})"
    if os.path.isdir(instance.source):
        read = f"engine.RunFolder.open({source}).problem()"
    return f"import engine\n\nproblem = {read}\nresult = {call}\nprint(result.status, result.objective)\n"
