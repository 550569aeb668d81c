"""What a check has found: sentences that are verified, refuted, or could not be verified."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from numpy.typing import NDArray

from ..base.result import Result, Status
from ..util.text import number_text

UNVERIFIED = 6
REFUTED = 4


@dataclass(frozen=True)
class Claim:
    """What a run claims: ``result`` answers the problem of this class and these arrays, with these options."""

    kind: str
    problem: Mapping[str, NDArray[Any]]
    options: Mapping[str, Any]
    result: Result


@dataclass(frozen=True)
class Verification:
    """What the check of a result has found.

    Attributes
    ----------
    name : str
        What was checked.
    verified, unverified, refuted : tuple of str
        Sentences without a final full stop: what has been computed again and agrees, what was not or could not be
        checked, and what is wrong.

    Examples
    --------
    >>> import engine
    >>> problem = engine.Knapsack([60, 100, 120], [10, 20, 30], 50)
    >>> found = engine.verify(engine.solve(problem), problem)
    >>> found.verdict, found.exit_code
    ('verified', 0)
    """

    name: str
    verified: tuple[str, ...]
    unverified: tuple[str, ...]
    refuted: tuple[str, ...]

    @property
    def verdict(self) -> str:
        """``"refuted"`` if anything is; else ``"verified"``, ``"partly verified"`` or ``"not verified"``."""
        if self.refuted:
            return "refuted"
        if not self.unverified:
            return "verified"
        return "partly verified" if self.verified else "not verified"

    @property
    def exit_code(self) -> int:
        """0 if verified, 4 if refuted, 6 if a part could not be verified."""
        return REFUTED if self.refuted else UNVERIFIED if self.unverified else 0

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain JSON values."""
        return {"verdict": self.verdict, **asdict(self)}

    def __str__(self) -> str:
        marked = (("verified", self.verified), ("not verified", self.unverified), ("refuted", self.refuted))
        lines = [f"  {word}: {sentence}" for word, sentences in marked for sentence in sentences]
        return "\n".join([f"{self.name}: {self.verdict}", *lines])


class Findings:
    """Sentences as a checker finds them."""

    def __init__(self) -> None:
        self.verified: list[str] = []
        self.unverified: list[str] = []
        self.refuted: list[str] = []

    def expect(self, holds: bool, sentence: str, otherwise: str) -> bool:
        """Note the sentence as verified if it holds, else the other one as refuted; returns whether it holds."""
        (self.verified if holds else self.refuted).append(sentence if holds else otherwise)
        return holds


def judge_bound(
    claim: Claim, found: Findings, minimize: bool, best: int | Fraction | None, how: str, exact: bool, scale: int = 1
) -> None:
    """Judge what a result claims of the optimum by an independent bound; ``scale`` makes objectives whole.

    ``best``: the bound times ``scale``, or None; ``how``: where it is from, for sentences; ``exact``: whether it is the
    optimum.
    """
    result, sign = claim.result, 1 if minimize else -1
    objective, bound = (
        None if value is None else sign * round(Fraction(value) * scale) for value in (result.objective, result.bound)
    )
    own = None if best is None else sign * best
    shown = "" if best is None else number_text(int(best) if scale == 1 else float(best / scale))
    if own is not None and objective is not None and objective < own:
        found.refuted.append(f"the objective is better than what {how} proves, {shown}")
        return
    claimed = objective if result.status == Status.OPTIMAL else bound
    if claimed is None:
        return
    called = "the objective is optimal" if result.status == Status.OPTIMAL else f"nothing is better than {result.bound}"
    if own is not None and own >= claimed:
        found.verified.append(f"{called}: {how} proves it")
    elif exact:
        found.refuted.append(f"it is wrong that {called}: the optimum is {shown} by {how}")
    else:
        found.unverified.append(f"{called}" + (f" ({how} proves only {shown})" if own is not None else f" ({how})"))
