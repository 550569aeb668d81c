"""The clusters that a user has saved: TOML files in the configuration folder; see :mod:`engine.execution.dask.jobs`."""

from __future__ import annotations

from pathlib import Path

import platformdirs

__all__ = ["saved_clusters"]


def saved_clusters() -> dict[str, Path]:
    """The files ``clusters/NAME.toml`` in the user's configuration folder, by name."""
    folder = Path(platformdirs.user_config_dir("quintet", appauthor=False)) / "clusters"
    return {path.stem: path for path in sorted(folder.glob("*.toml"))} if folder.is_dir() else {}
