"""The names of :mod:`engine.formats`, for editors and type checkers; the import itself gives that module."""

from engine.formats import *  # noqa: F403
