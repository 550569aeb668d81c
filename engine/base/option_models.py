"""Options models: conversion of text to a field's type, descriptions of fields, and errors in one sentence each."""

import re
import types
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, Field, ValidationError
from pydantic_core import ErrorDetails

from ..errors import OptionError, nearest
from ..util.text import number_text

M = TypeVar("M", bound=BaseModel)

Seed = Annotated[int, Field(ge=0, lt=2**64)]
"""A seed: what fits 64 bits, for every solver and generator alike."""

_TYPE_NAMES = {bool: "true or false", int: "integer", float: "number", str: "text"}
_SEQUENCES = (list, tuple, set, frozenset)
_BOUNDS = (("ge", ">="), ("gt", ">"), ("le", "<="), ("lt", "<"), ("multiple_of", "a multiple of"))

_SEPARATOR = re.compile(r"[,\s]+")
_NUMBERS = re.compile(r"[-+\d.eE,\s]+")

_WHOLE, _NUMBER, _FLAG = "must be a whole number", "must be a number", "must be true or false"
_MESSAGES = {
    "greater_than_equal": "must be at least {ge}",
    "greater_than": "must be greater than {gt}",
    "less_than_equal": "must be at most {le}",
    "less_than": "must be less than {lt}",
    "multiple_of": "must be a multiple of {multiple_of}",
    "literal_error": "must be {expected}",
    **dict.fromkeys(("int_parsing", "int_type", "int_from_float", "int_parsing_size"), _WHOLE),
    **dict.fromkeys(("float_parsing", "float_type"), _NUMBER),
    **dict.fromkeys(("bool_parsing", "bool_type"), _FLAG),
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "string_type": "must be text",
}
"""Messages for pydantic's types of errors, filled from their context; other types keep pydantic's message."""


@dataclass(frozen=True)
class Given:
    """A value and its ``origin``: ``"argument"``, ``"environment NAME"`` or ``"file PATH"``, there with its line."""

    value: Any
    origin: str = "argument"
    line: int | None = None

    @property
    def where(self) -> str:
        """For the end of a message: empty for an argument, which the user has before their eyes."""
        if self.origin == "argument":
            return ""
        return f" ({self.origin}, line {self.line})" if self.line is not None else f" ({self.origin})"


def validated(
    model: type[M],
    given: Mapping[str, Given],
    *,
    what: str,
    of: str = "",
    hint: Callable[[str], str] = lambda name: "",
) -> M:
    """Create the model, or raise an error that names every mistake."""
    wrong = {
        name: f"unknown {what} '{name}'{of}{hint(name) or nearest(name, model.model_fields)}{value.where}"
        for name, value in given.items()
        if name not in model.model_fields
    }
    known = {name: value for name, value in given.items() if name not in wrong}
    made: M | None = None
    try:
        made = model.model_validate({name: _meant(model, name, value.value) for name, value in known.items()})
    except ValidationError as error:
        wrong.update(_sentences(error, model, known))
    if wrong or made is None:
        order = {name: position for position, name in enumerate(given)}
        raise OptionError(
            "; ".join(wrong[name] for name in sorted(wrong, key=lambda name: order.get(name, len(order))))
        )
    return made


def _meant(model: type[BaseModel], name: str, value: Any) -> Any:
    """A value converted from text or from a NumPy scalar as far as pydantic does not do that."""
    kinds = alternatives(model, name)
    if hasattr(value, "tolist"):  # NumPy's arrays and scalars
        value = value.tolist()
    if isinstance(value, bool) and bool not in kinds and {int, float} & set(kinds):
        return str(value).lower()  # else true would count as 1
    if not isinstance(value, str):
        return value
    text = value.strip()
    if type(None) in kinds and text.lower() in ("none", "null"):
        return None
    for kind in kinds:
        if get_origin(kind) is Literal:
            for choice in get_args(kind):
                if str(choice) == text:
                    return choice
    for kind in kinds:
        if kind in _SEQUENCES or get_origin(kind) in _SEQUENCES:
            of_numbers = bool({int, float} & set(get_args(kind)))
            if of_numbers and len(kinds) > 1 and not _NUMBERS.fullmatch(text):
                continue  # another alternative, or what is wrong with it, is meant
            parts = _SEPARATOR.split(text) if of_numbers else text.split(",")
            return [part.strip() for part in parts if part.strip()]
    return value


def _sentences(error: ValidationError, model: type[BaseModel], given: Mapping[str, Given]) -> dict[str, str]:
    """One sentence a name: the rule, what was given, and where."""
    rules: dict[str, list[str]] = {}
    for problem in error.errors():
        name = str(problem["loc"][0]) if problem["loc"] else ""
        rule = _rule(problem)
        if rule not in rules.setdefault(name, []):
            rules[name].append(rule)
    return {name: _sentence(model, name, found, given.get(name)) for name, found in rules.items()}


def _sentence(model: type[BaseModel], name: str, rules: list[str], given: Given | None) -> str:
    if not name:
        return "; ".join(rules)
    musts = [rule.removeprefix("must be ") for rule in rules if rule.startswith("must be ")]
    text = f"{name} must be {' or '.join(musts)}" if len(musts) == len(rules) else f"{name}: {', '.join(rules)}"
    if given is None:
        return text
    hint = ""
    if isinstance(given.value, str):
        hint = nearest(given.value, _choices(model, name))
    return f"{text}; got {value_text(given.value)}{given.where}{hint}"


def _rule(problem: ErrorDetails) -> str:
    """The end of a sentence that begins with the name: from the table of messages, else pydantic's own."""
    context = problem.get("ctx", {})
    if problem["type"] == "value_error" and "error" in context:
        return str(context["error"])
    template = _MESSAGES.get(problem["type"])
    if template in (_WHOLE, _NUMBER) and isinstance(problem["loc"][-1], int):  # of an element
        return template.replace(" a ", " a list of ") + "s"
    if template is None:
        return problem["msg"]
    return template.format(
        **{name: number_text(value) if isinstance(value, float) else value for name, value in context.items()}
    )


def _choices(model: type[BaseModel], name: str) -> list[str]:
    literals = [kind for kind in alternatives(model, name) if get_origin(kind) is Literal]
    return [str(choice) for kind in literals for choice in get_args(kind)]


def alternatives(model: type[BaseModel], name: str) -> list[Any]:
    """The alternatives of a field's type: ``int | None`` is ``[int, NoneType]``."""
    if name not in model.model_fields:
        return []
    return list(_flattened(model.model_fields[name].annotation))


def _flattened(annotation: Any) -> Iterator[Any]:
    if get_origin(annotation) in (Union, types.UnionType):
        for part in get_args(annotation):
            yield from _flattened(part)
    elif hasattr(annotation, "__metadata__"):
        yield from _flattened(annotation.__origin__)
    else:
        yield annotation


def is_flag(model: type[BaseModel], name: str) -> bool:
    """Whether a field is written ``--name`` and ``--no-name`` on a command line."""
    kinds: Collection[Any] = alternatives(model, name)
    return bool in kinds and set(kinds) <= {bool, type(None)}


def field_type(model: type[BaseModel], name: str) -> str:
    """What a field of a model accepts, for people: ``"integer, >= 1, or none"``, ``"rows, tiles or auto"``."""
    words: list[str] = []
    for kind in alternatives(model, name):
        if get_origin(kind) is Literal:
            words += [str(choice) for choice in get_args(kind)]
        elif kind is type(None):
            words.append("none")
        elif kind in _SEQUENCES or get_origin(kind) in _SEQUENCES:
            inner = get_args(kind)[0] if get_args(kind) else str
            words.append(f"list of {_TYPE_NAMES.get(inner, getattr(inner, '__name__', str(inner)))}")
        else:
            words.append(_TYPE_NAMES.get(kind, getattr(kind, "__name__", str(kind))))
    bounds = [
        f"{sign} {getattr(rule, attribute)}"
        for rule in model.model_fields[name].metadata
        for attribute, sign in _BOUNDS
        if getattr(rule, attribute, None) is not None
    ]
    text = " or ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]
    return ", ".join([text, *bounds])


def value_text(value: Any) -> str:
    """A value as users write it, shortened where it is long."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)) and value and all(isinstance(part, str) for part in value):
        text = ", ".join(value)
    else:
        text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= 80 else text[:79] + "…"
