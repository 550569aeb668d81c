"""How much work a device gets at a time: enough to be worth a launch, little enough to pause, stop and report soon."""

import math

SLICE_SECONDS = 0.05
"""How long a device should work between two checks of the run's controls."""


class SliceLength:
    """The ``amount`` of work of the next slice, in the solver's unit, from how long the slices before ``took``.

    ``seconds``: how long a slice should take; ``growth``: the most an amount may grow from one slice to the next.
    """

    def __init__(
        self,
        start: float = 1,
        *,
        least: float = 1,
        most: float = math.inf,
        seconds: float = SLICE_SECONDS,
        growth: float = 2.0,
    ) -> None:
        if not (0 < least <= most and seconds > 0 and growth > 1):
            given = f"{least}, {most}, {seconds}, {growth}"
            raise ValueError(f"a slice needs 0 < least <= most, seconds > 0 and growth > 1; got {given}")
        self.least, self.most, self.seconds, self.growth = least, most, seconds, growth
        self._amount = min(max(start, least), most)

    @property
    def amount(self) -> int:
        """What the next slice should do, a whole number of at least 1."""
        return max(1, int(self._amount))

    def took(self, seconds: float, amount: float | None = None) -> None:
        """A slice of ``amount`` (by default the present one) took so many seconds."""
        done = self.amount if amount is None else amount
        wanted = self.seconds * done / max(seconds, 1e-9)
        self._amount = min(max(wanted, self.least), self.growth * max(done, self.least), self.most)
