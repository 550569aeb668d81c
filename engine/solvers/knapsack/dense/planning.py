"""How the devices of a pool share the dynamic program, planned without them: slices, stretches, parts of rows."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ....devices import DeviceInfo
from ....devices.pool.slices import SLICE_SECONDS, SliceLength
from .schedule import Goal, Schedule
from .worker import Part, Step

_EXCHANGE_SECONDS = {True: 300e-6, False: 500e-6}  # of all devices, beside the cells moved; True: on the devices
_MOST_LAUNCHES = 2000  # in one slice: what is in flight cannot be stopped


@dataclass(frozen=True)
class Stretch:
    """Groups ``begin`` .. ``end - 1`` between two exchanges; the cells each member makes, and those it starts from."""

    begin: int
    end: int
    parts: tuple[tuple[int, int], ...]
    needs: tuple[tuple[int, int], ...]


Slice = list[Stretch]  # stretches that the devices do without the run's thread


def same_model(devices: Sequence[DeviceInfo]) -> bool:
    """Whether the devices are of one model and have the same traits, so that they share a row evenly, not by speed."""
    return all((info.name, info.capabilities) == (devices[0].name, devices[0].capabilities) for info in devices)


def room_for_rows(widest: int, devices: Sequence[DeviceInfo], halo: int, minimum_share: int = 1) -> int:
    """Cells each device holds of a row, for rows of up to ``widest`` cells and slices that read ``halo`` cells back."""
    if not same_model(devices):
        return widest
    most = min(len(devices), max(1, widest // minimum_share))  # devices that the widest row is worth
    rows = {count: (count + 1) * minimum_share - 1 for count in range(1, most)} | {most: widest}  # widest row for each
    return min(widest, max(_each(width, count, halo) for count, width in rows.items()))


def _each(width: int, devices: int, halo: int) -> int:
    """Cells of a row that each of the devices holds, with those that it reads back for its part."""
    return width if devices == 1 else math.ceil(width / devices) + 3 * halo


class Planner:
    """Divides a schedule among devices."""

    def __init__(
        self,
        schedule: Schedule,
        infos: Sequence[DeviceInfo],
        *,
        peer: bool,
        row_cells: int,
        halo: int,
        minimum_share: int,
    ) -> None:
        self.schedule = schedule
        self.row_cells = row_cells  # of each device
        self._count = len(infos)
        self._halo = halo  # the most weight between two exchanges, at least that of any one group
        self._minimum_share = minimum_share  # of a row, in cells, that is worth a device
        self._even = same_model(infos)
        self._exchange_seconds = _EXCHANGE_SECONDS[peer and self._even]
        self._speed = [3e11 if info.capabilities.simt else 1e9 for info in infos]
        self._slice = SliceLength(SLICE_SECONDS * sum(self._speed))

    def slices(self, begin: int, until: int, goal: Goal, alone: bool) -> Iterator[Slice]:
        """Cut the groups into slices, one ahead of the devices, by the speed measured so far.

        A slice of like devices has several stretches; unlike ones are measured, and given their parts, after each.
        """
        work = np.concatenate([[0], np.cumsum(self.schedule.cost(begin, until, goal))])
        collected: Slice = []
        for stretch in self._stretches(begin, until, goal, alone):
            collected.append(stretch)
            first = collected[0].begin
            done = int(work[stretch.end - begin] - work[first - begin])
            full = done > self._slice.amount or stretch.end - first > _MOST_LAUNCHES
            is_shared = sum(low <= high for low, high in stretch.parts) > 1
            if full or not (self._even and is_shared):
                yield collected
                collected = []
        if collected:
            yield collected

    def _stretches(self, begin: int, until: int, goal: Goal, alone: bool) -> Iterator[Stretch]:
        """Cut the groups into stretches, of no more work than a slice should have."""
        work = self.schedule.cost(begin, until, goal).tolist()
        widths = self.schedule.widths(begin, until, goal).tolist()
        weight = self.schedule.weight_before
        first = begin
        while first < until:
            devices = 1 if alone else self._devices_for(max(widths[first - begin : first - begin + 2]))
            budget = self._slice.amount
            farthest = weight[first] + self._reach(devices) if devices > 1 else weight[until]
            spent = work[first - begin]
            last = first + 1
            while last < until and last - first < _MOST_LAUNCHES:
                spent += work[last - begin]
                wider = not alone and self._devices_for(widths[last + 1 - begin]) > devices
                if spent > budget or weight[last + 1] > farthest or wider:
                    break
                last += 1
            parts = self._parts(last, goal, devices)
            needs = tuple(self._need(first, last, goal, part) for part in parts)
            yield Stretch(first, last, parts, needs)
            first = last

    def _reach(self, devices: int) -> int:
        """How much weight a stretch of several devices takes: more is done twice, less is exchanged more often.

        Cells done twice cost reach / 2 a cell of weight, an exchange costs its seconds; the sum is least at
        reach = sqrt(2 * seconds * speed * weight an update), with the weights of a group taken together.
        """
        mean = max(1.0, self.schedule.weight_before[-1] / max(1, int(self.schedule.costs.sum())))
        best = math.sqrt(2 * self._exchange_seconds * min(self._speed[:devices]) * mean)
        return int(min(self._halo, max(best, 1)))

    def _devices_for(self, width: int) -> int:
        """How many devices a row of this width is worth, and needs."""
        most = self._count
        wanted = max(1, min(most, width // self._minimum_share))
        while wanted < most and _each(width, wanted, self._halo) > self.row_cells:
            wanted += 1
        return wanted

    def holds(self, width: int) -> bool:
        """Whether a row of so many cells fits the members' memory."""
        devices = self._devices_for(width) if self._even else 1  # of unlike ones, any may get nearly all
        return _each(width, devices, self._halo) <= self.row_cells

    def _parts(self, stage: int, goal: Goal, devices: int) -> tuple[tuple[int, int], ...]:
        """Divide the active range: evenly among like devices, by measured speed among unlike ones."""
        lo, hi = self.schedule.range(stage, goal)
        shares = np.ones(devices) if self._even else np.array(self._speed[:devices])
        cuts = lo + np.round(np.concatenate([[0], np.cumsum(shares) / shares.sum()]) * (hi - lo + 1)).astype(np.int64)
        parts = [(int(cuts[i]), int(cuts[i + 1]) - 1) for i in range(devices)]
        return (*parts, *((0, -1),) * (self._count - devices))

    def _need(self, stage: int, last: int, goal: Goal, part: tuple[int, int]) -> tuple[int, int]:
        """Cells of the row before ``stage`` that ``part`` of the row before ``last`` is made from."""
        if part[0] > part[1]:
            return (0, -1)
        lo, hi = self.schedule.range(stage, goal)
        back = self.schedule.weight_before[last] - self.schedule.weight_before[stage]
        return max(lo, part[0] - back), min(hi, part[1])

    def member_parts(
        self, present: Slice | None, upcoming: Slice | None, goal: Goal, keep: Mapping[int, int]
    ) -> dict[int, list[Part]]:
        """What each member does in a slice: of one stretch those that have a part in it, else all."""
        if present is None:
            return {}
        following = [*present[1:], upcoming[0] if upcoming else None]
        members = list(range(self._count))
        if len(present) == 1:
            members = [index for index in members if present[0].parts[index][0] <= present[0].parts[index][1]]
        parts: dict[int, list[Part]] = {index: [] for index in members}
        for stretch, after in zip(present, following, strict=True):
            steps = self._steps(stretch, after, goal, keep)
            lacking = list(self._lacking(stretch, after))
            for index, own in parts.items():
                sent = [(lo, hi) for _, sender, lo, hi in lacking if sender == index]
                own.append(Part(stretch.needs[index], steps.get(index, []), sent))
        return parts

    def _steps(
        self, present: Stretch, upcoming: Stretch | None, goal: Goal, keep: Mapping[int, int]
    ) -> dict[int, list[Step]]:
        """The launches of a stretch, for each member that has a part in it."""
        weight = np.array(self.schedule.weight_before[present.begin + 1 : present.end + 1], dtype=np.int64)
        back = weight[-1] - weight
        lowest, highest = (cells[1:] for cells in self.schedule.ranges(present.begin, present.end, goal))
        profits = self.schedule.profit_before[present.begin : present.end]
        before = self.schedule.profit_before[goal.origin]
        steps: dict[int, list[Step]] = {}
        for index, (first, last) in enumerate(present.parts):
            if first > last:
                continue
            lows = np.maximum(lowest, first - back).tolist()
            highs = np.minimum(highest, last).tolist()
            bases = lows[:]
            if upcoming is not None and upcoming.needs[index][0] <= upcoming.needs[index][1]:
                bases[-1] = max(min(lows[-1], upcoming.needs[index][0]), highs[-1] + 1 - self.row_cells)
            steps[index] = [
                Step(group, full - before, lo, hi, base, keep.get(group + 1))
                for group, full, lo, hi, base in zip(
                    range(present.begin, present.end), profits, lows, highs, bases, strict=True
                )
            ]
        return steps

    @staticmethod
    def _lacking(present: Stretch, upcoming: Stretch | None) -> Iterator[tuple[int, int, int, int]]:
        """(receiver, sender, lo, hi): what each member lacks for the next stretch, and who has made it."""
        if upcoming is None:
            return
        for receiver, (lo, hi) in enumerate(upcoming.needs):
            for sender, (first, last) in enumerate(present.parts):
                a, b = max(lo, first), min(hi, last)
                if sender != receiver and a <= b:
                    yield receiver, sender, a, b

    def cells_sent(self, present: Slice, upcoming: Slice | None) -> int:
        """Cells that move between members in a slice and before the next."""
        following = [*present[1:], upcoming[0] if upcoming else None]
        pairs = zip(present, following, strict=True)
        return sum(hi - lo + 1 for stretch, after in pairs for _, _, lo, hi in self._lacking(stretch, after))

    def cells_made(self, present: Slice, goal: Goal) -> dict[int, float]:
        """Cell updates of each member that has a part in a slice; what two members do twice counts once."""
        first, last = present[0].begin, present[-1].end
        ends = np.array([stretch.end - first for stretch in present])
        done = np.concatenate([[0], np.cumsum(self.schedule.work(first, last, goal))])
        widths = self.schedule.widths(first, last, goal)[ends]
        work = np.diff(done[ends], prepend=0) / widths  # of each cell that a stretch ends with
        parts = np.array([stretch.parts for stretch in present])
        made = work @ (parts[:, :, 1] - parts[:, :, 0] + 1)
        return {index: float(cells) for index, cells in enumerate(made) if cells > 0}

    def took(
        self, present: Slice, goal: Goal, made: Mapping[int, float], seconds: Mapping[int, float]
    ) -> dict[int, float]:
        """A slice took each member so many seconds; the cells a second of those that made some."""
        cost = int(self.schedule.cost(present[0].begin, present[-1].end, goal).sum())
        each = cost / max(1.0, sum(made.values()))
        self._slice.took(max(seconds.values()), cost)
        rates = {}
        for index, cells in made.items():
            own = seconds[index]
            rates[index] = cells / max(own, 1e-9)
            rate = each * rates[index]
            if rate > self._speed[index] or own > SLICE_SECONDS / 20:  # a short slice is mostly overhead
                self._speed[index] = 0.5 * (self._speed[index] + rate)
        return rates
