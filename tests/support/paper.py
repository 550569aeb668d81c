"""Runs of the algorithm as its paper has it, without local search."""

import engine


class PaperEngine(engine.Engine):
    """An engine whose runs have no local search, unless they ask for one."""

    def start(self, problem, **options):
        return super().start(problem, **{"local_search": "none", **options})


def solve_as_paper(problem, **options):
    """``engine.solve`` without local search, unless it is asked for."""
    return engine.solve(problem, **{"local_search": "none", **options})
