"""An estimate of the work that a run will take."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Estimate"]


@dataclass(frozen=True)
class Estimate:
    """How much work solving a problem is expected to take.

    Attributes
    ----------
    unit : str
        What is counted, such as ``"nodes"``.
    amount, low, high : float
        Mean of independent estimates, and limits that it is probably (80 %) between; all equal if the amount is known
        exactly.
    rate : float
        Units a second, measured on the devices; 0 where there is nothing to do.
    seconds, seconds_low, seconds_high : float
        The amounts at that rate.
    """

    unit: str
    amount: float
    low: float
    high: float
    rate: float

    @property
    def seconds(self) -> float:
        """Time for ``amount``."""
        return self.amount / max(self.rate, 1e-9)

    @property
    def seconds_low(self) -> float:
        """Time for ``low``."""
        return self.low / max(self.rate, 1e-9)

    @property
    def seconds_high(self) -> float:
        """Time for ``high``."""
        return self.high / max(self.rate, 1e-9)
