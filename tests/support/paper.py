"""Runs of the algorithm as its paper has it, without local search."""

from __future__ import annotations

from typing import Any

import engine


class PaperEngine(engine.Engine):
    """An engine whose runs have no local search, unless they ask for one."""

    def start(self, problem: Any, **options: Any) -> engine.Run:  # type: ignore[override]
        return super().start(problem, **{"local_search": "none", **options})


def solve_as_paper(problem: engine.BOA, **options: Any) -> engine.Result:
    """``engine.solve`` without local search, unless it is asked for."""
    return engine.solve(problem, **{"local_search": "none", **options})
