"""The desktop app: a window that solves problems through ``quintet`` and shows every run live (``quintet gui``)."""

# Before PySide6, whose import hook reads the source of each module that is imported after it: an eighth of the start.
import engine.runs.folder.run_folder
import engine.settings.config
import engine.solvers  # noqa: F401
