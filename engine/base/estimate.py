"""An estimate of the work that a run will take."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Estimate:
    """How much work solving a problem is expected to take."""

    unit: str  # what is counted, such as "nodes"
    amount: float  # the mean of independent estimates
    low: float  # it is probably (80 %) between these; all three are equal if it is known exactly
    high: float
    rate: float  # units a second, measured on the devices; 0 where there is nothing to do

    @property
    def seconds(self) -> float:
        return self.amount / max(self.rate, 1e-9)

    @property
    def seconds_low(self) -> float:
        return self.low / max(self.rate, 1e-9)

    @property
    def seconds_high(self) -> float:
        return self.high / max(self.rate, 1e-9)
