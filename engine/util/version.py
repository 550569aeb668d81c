"""The version of the installed package."""

import importlib.metadata


def version() -> str:
    """The installed version of Quintet; ``"unpackaged"`` where it runs from a source tree that is not installed."""
    try:
        return importlib.metadata.version("quintet")
    except importlib.metadata.PackageNotFoundError:
        return "unpackaged"
