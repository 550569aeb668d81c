"""The names of :mod:`engine.devices`, for editors and type checkers; the import itself gives that module."""

from engine.devices import *  # noqa: F403
