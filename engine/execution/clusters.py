"""The clusters that a user has saved: TOML files in the configuration folder; see :mod:`engine.execution.dask.jobs`."""

from __future__ import annotations

from pathlib import Path

from ..util.paths import user_folder

__all__ = ["saved_clusters"]


def saved_clusters() -> dict[str, Path]:
    """The files ``clusters/NAME.toml`` in the user's configuration folder, by name."""
    folder = user_folder("config") / "clusters"
    return {path.stem: path for path in sorted(folder.glob("*.toml"))} if folder.is_dir() else {}
