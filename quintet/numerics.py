"""The names of :mod:`engine.numerics`, for editors and type checkers; the import itself gives that module."""

from engine.numerics import *  # noqa: F403
