"""The names of :mod:`engine.solvers`, for editors and type checkers; the import itself gives that module."""

from engine.solvers import *  # noqa: F403
