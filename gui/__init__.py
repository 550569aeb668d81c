"""The desktop app: a window that solves problems through ``quintet`` and shows every run live (``quintet gui``)."""

import engine  # noqa: F401 - before PySide6, whose import hook stumbles over pydantic's own while that is half imported
