"""Whether groups of runs differ by more than chance, and which options matter."""

from collections.abc import Sequence

import numpy as np

from engine.util.text import option_text
from gui.compare.groups import Group, condition_of, differing_options, numbers_of
from gui.runs.notes import RunNote

_FEWEST = 4


def compared(groups: Sequence[Group], column: str) -> list[tuple[float | None, str]]:
    """For each group the probability of such a difference from the first group of its instance, and the test.

    Wilcoxon (1945) where the seeds are the same, else Mann and Whitney (1947); corrected after Holm (1979).
    """
    from scipy.stats import mannwhitneyu, wilcoxon

    found: list[tuple[float | None, str]] = []
    for group in groups:
        first = next(one for one in groups if one.instance == group.instance)
        one, other = (numbers_of(member.runs, column) for member in (first, group))
        pairs = {note.seed: value for note, value in one}
        paired = len(pairs) == len(one) == len(other) and {note.seed for note, _ in other} == set(pairs)
        if group is first or min(len(one), len(other)) < _FEWEST:
            found.append((None, ""))
        elif paired:
            apart = [value - pairs[note.seed] for note, value in other]
            found.append((float(wilcoxon(apart).pvalue) if any(apart) else 1.0, "Wilcoxon"))
        else:
            result = mannwhitneyu([value for _, value in one], [value for _, value in other])
            found.append((float(result.pvalue), "Mann-Whitney"))
    order = sorted((p, place) for place, (p, _) in enumerate(found) if p is not None)
    least = 0.0
    for rank, (p, place) in enumerate(order):
        least = max(least, min(1.0, (len(order) - rank) * p))
        found[place] = least, found[place][1]
    return found


def importance(notes: Sequence[RunNote], column: str) -> dict[str, float]:
    """Eta squared (Fisher 1925) of each option in which runs differ, of the ranks within each instance."""
    from scipy.stats import rankdata

    known = numbers_of(notes, column)
    instances = np.array([note.problem for note, _ in known])
    values = np.array([value for _, value in known])
    ranks = np.zeros(len(known))
    for instance in np.unique(instances):
        here = instances == instance
        ranks[here] = rankdata(values[here]) / here.sum()
        ranks[here] -= ranks[here].mean()
    total = float(ranks @ ranks)
    found = {}
    for name in differing_options([note for note, _ in known]):
        texts = [option_text(condition_of(note, name)) for note, _ in known]
        _, level = np.unique(texts, return_inverse=True)
        sums, counts = np.bincount(level, ranks), np.bincount(level)
        found[name] = float((sums**2 / counts).sum()) / total if total > 0 else 0.0
    return dict(sorted(found.items(), key=lambda entry: -entry[1]))
