"""The public names and what belongs to them."""

import enum
import inspect

import engine
from engine.adapters import PUBLIC


def members():
    """The public functions, classes and their own methods; not those for another package that is not installed."""
    for name in dir(engine):
        try:
            found = getattr(engine, name)
        except ModuleNotFoundError as error:
            if name not in PUBLIC or str(error.name).partition(".")[0] == "engine":
                raise
            continue
        if inspect.isfunction(found):
            yield name, found
        elif inspect.isclass(found):
            if not issubclass(found, (Exception, enum.Enum)):
                yield name, found
            for method, function in vars(found).items():
                plain = getattr(function, "__func__", function)
                if not method.startswith("_") and inspect.isfunction(plain):
                    yield f"{name}.{method}", plain
