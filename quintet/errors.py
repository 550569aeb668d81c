"""The names of :mod:`engine.errors`, for editors and type checkers; the import itself gives that module."""

from engine.errors import *  # noqa: F403
