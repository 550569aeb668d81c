"""The names of :mod:`engine.events`, for editors and type checkers; the import itself gives that module."""

from engine.events import *  # noqa: F403
