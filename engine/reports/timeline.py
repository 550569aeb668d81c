"""Pictures of recorded timelines as SVG, and how the devices' time was used."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray

from ..devices.monitor.timeline import Command, DeviceTimeline, Timeline

_COLUMNS = 360  # into which a lane is cut
_LEVELS = 6  # of a column's height
_WIDTH, _LEFT, _LANE, _GAP = 2 * _COLUMNS, 110, 22, 5
_KERNEL_COLORS = ("#1f77b4", "#2ca02c", "#9467bd", "#8c564b", "#17becf", "#bcbd22")
_OTHER, _COPY, _PEER = "#7f7f7f", "#ff7f0e", "#d62728"
_TASK, _DEVICE, _EXCHANGE = "#c7c7c7", "#aec7e8", "#ff9896"
_Intervals = NDArray[np.float64]


@dataclass(frozen=True)
class Shares:
    """What one device's time was used for, as shares of a window that add up to 1."""

    computing: float
    copying: float

    @property
    def waiting(self) -> float:
        """Neither kernels nor copies."""
        return max(0.0, 1 - self.computing - self.copying)


def _intervals(spans: Iterable[tuple[float, float]], window: tuple[float, float]) -> _Intervals:
    """Disjoint intervals (k, 2) that cover what the spans cover of the window."""
    clipped = np.array([(max(a, window[0]), min(b, window[1])) for a, b in spans if b > window[0] and a < window[1]])
    if not len(clipped):
        return np.zeros((0, 2))
    clipped = clipped[np.argsort(clipped[:, 0])]
    ends = np.maximum.accumulate(clipped[:, 1])
    first = np.flatnonzero(np.append(True, clipped[1:, 0] > ends[:-1]))
    return np.stack([clipped[first, 0], ends[np.append(first[1:] - 1, len(ends) - 1)]], axis=1)


def covered(spans: Iterable[tuple[float, float]], window: tuple[float, float]) -> float:
    """Seconds of a window that spans (begin, end) cover; what several cover counts once."""
    intervals = _intervals(spans, window)
    return float((intervals[:, 1] - intervals[:, 0]).sum())


def shares_of(device: DeviceTimeline, window: tuple[float, float]) -> Shares:
    """How a device's time within a window was used."""
    whole = max(1e-12, window[1] - window[0])
    kernels = [(one.begin, one.end) for one in device.commands if one.kind == "kernel"]
    used = [(one.begin, one.end) for one in device.commands if one.kind != "wait"]
    computing = covered(kernels, window) / whole
    return Shares(computing, covered(used, window) / whole - computing)


def busiest_window(timeline: Timeline, window: tuple[float, float], seconds: float) -> tuple[float, float]:
    """The part of a window, of so many seconds, in its middle by commands: what a detail shows."""
    begins = sorted(
        one.begin for device in timeline.devices for one in device.commands if window[0] <= one.begin <= window[1]
    )
    middle = begins[len(begins) // 2] if begins else 0.5 * sum(window)
    first = min(max(window[0], middle - seconds / 2), max(window[0], window[1] - seconds))
    return first, min(window[1], first + seconds)


def _columns(spans: Iterable[tuple[float, float]], window: tuple[float, float]) -> NDArray[np.float64]:
    """The share of each of the picture's columns that spans cover."""
    intervals = _intervals(spans, window)
    lengths = np.cumsum(intervals[:, 1] - intervals[:, 0])
    covered_until = np.stack([np.append(0.0, lengths)[:-1], lengths], axis=1)  # (k, 2), at their begins and ends
    grid = np.linspace(*window, _COLUMNS + 1)
    done = np.interp(grid, np.append(window[0], intervals), np.append(0.0, covered_until))
    shares: NDArray[np.float64] = np.diff(done) * _COLUMNS / max(1e-12, window[1] - window[0])
    return shares.clip(0.0, 1.0)


def _stacked_band(layers: Sequence[tuple[str, NDArray[np.float64]]], top: int) -> str:
    """A band in which every column is filled from below with the shares of its layers."""
    heights = np.zeros(_COLUMNS)
    parts = []
    for color, shares in layers:
        upper = np.minimum(1.0, heights + shares)
        low, high = np.rint(heights * _LEVELS).astype(int), np.rint(upper * _LEVELS).astype(int)
        heights = upper
        changes = np.flatnonzero(np.append(True, (np.diff(low) != 0) | (np.diff(high) != 0)))
        path = []
        for first, last in zip(changes, np.append(changes[1:], _COLUMNS), strict=True):
            if high[first] > low[first]:
                y, tall = (_LEVELS - high[first]) * _LANE / _LEVELS, (high[first] - low[first]) * _LANE / _LEVELS
                wide = 2 * (last - first)
                path.append(f"M{_LEFT + 2 * first} {top + y:.1f}h{wide}v{tall:.1f}h-{wide}z")
        if path:
            parts.append(f'<path fill="{color}" d="{"".join(path)}"/>')
    return "".join(parts)


_Layers = list[tuple[str, NDArray[np.float64]]]


def _device_layers(device: DeviceTimeline, colors: dict[str, str], window: tuple[float, float]) -> _Layers:
    named: dict[str, list[tuple[float, float]]] = {}
    for one in device.commands:
        if one.kind != "wait":
            color = colors.get(one.name, _OTHER) if one.kind == "kernel" else _PEER if one.kind == "peer" else _COPY
            named.setdefault(color, []).append((one.begin, one.end))
    return [(color, _columns(named.get(color, ()), window)) for color in (*_KERNEL_COLORS, _OTHER, _PEER, _COPY)]


def _host_layers(device: DeviceTimeline, window: tuple[float, float]) -> _Layers:
    task, waits, exchange = (
        [(one.begin, one.end) for one in device.host if one.kind == kind] for kind in ("task", "device", "exchange")
    )
    working = np.maximum(0.0, _columns(task, window) - _columns([*waits, *exchange], window))
    return [(_TASK, working), (_DEVICE, _columns(waits, window)), (_EXCHANGE, _columns(exchange, window))]


def _colors(commands: Iterable[Command]) -> dict[str, str]:
    """Colors of the kernels that take most time."""
    seconds: dict[str, float] = {}
    for one in commands:
        if one.kind == "kernel":
            seconds[one.name] = seconds.get(one.name, 0.0) + one.end - one.begin
    most = sorted(seconds, key=lambda name: -seconds[name])[: len(_KERNEL_COLORS)]
    return dict(zip(most, _KERNEL_COLORS, strict=False))


def picture(timeline: Timeline, title: str, window: tuple[float, float], detail: float = 0.02) -> str:
    """An SVG picture of a timeline: the whole window above, ``detail`` seconds of it, where most happens, below.

    Each member of the pool has two lanes: its device, with kernels and copies, and its host thread.
    """
    colors = _colors(one for device in timeline.devices for one in device.commands)
    legend = [*((color, name) for name, color in colors.items()), (_OTHER, "other kernels"), (_PEER, "from peers")]
    legend += [(_COPY, "copies"), (_TASK, "host works"), (_DEVICE, "host waits for device"), (_EXCHANGE, "for others")]
    parts, y = [], 44
    for part in (window, busiest_window(timeline, window, detail)):
        length = part[1] - part[0]
        parts.append(
            f'<text x="{_LEFT}" y="{y}">{_seconds(part[0] - window[0])} to {_seconds(part[1] - window[0])}</text>'
        )
        y += 6
        for device in timeline.devices:
            used = shares_of(device, part)
            parts.append(f'<text x="4" y="{y + 15}">{escape(device.label)}</text>')
            parts.append(f'<text x="{_LEFT + _WIDTH + 6}" y="{y + 15}">{100 * (1 - used.waiting):.0f} %</text>')
            parts.append(f'<rect x="{_LEFT}" y="{y}" width="{_WIDTH}" height="{_LANE}" fill="#f4f4f4"/>')
            parts.append(_stacked_band(_device_layers(device, colors, part), y))
            y += _LANE + 1
            parts.append(f'<text x="30" y="{y + 15}">host</text>')
            parts.append(_stacked_band(_host_layers(device, part), y))
            y += _LANE + _GAP
        y += 20
        if length <= detail:
            break
    for place, (color, name) in enumerate(legend):
        x, line = _LEFT + 240 * (place % 3), y + 16 * (place // 3)
        parts.append(f'<rect x="{x}" y="{line - 9}" width="10" height="10" fill="{color}"/>')
        parts.append(f'<text x="{x + 14}" y="{line}">{escape(name)}</text>')
    y += 16 * -(-len(legend) // 3) + 4
    wide = _LEFT + _WIDTH + 50
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {y}" font-family="sans-serif" font-size="12">'
    return (
        f'{head}<rect width="{wide}" height="{y}" fill="white"/>'
        f'<text x="4" y="18" font-size="14">{escape(title)}</text>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _seconds(seconds: float) -> str:
    return f"{seconds:.3f} s" if seconds < 10 else f"{seconds:.1f} s"
