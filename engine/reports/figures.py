"""Figures of reports, drawn by matplotlib, which is optional (extra ``reports``)."""

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import OutputError
from ..util.files import reason_of

_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "quintet",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "axes.axisbelow": True,
}


_MANY = 100


def can_draw() -> bool:
    """Whether matplotlib is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def draw_svg(path: Path, draw: Callable[[Any], None], size: tuple[float, float] = (6.4, 3.4)) -> None:
    """Draw one pair of axes into an SVG file."""
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasSVG(figure)
        draw(figure.subplots())
        try:
            figure.savefig(path, format="svg", metadata={"Date": None})
        except OSError as error:
            raise OutputError(f"cannot write the figure {path}: {reason_of(error)}") from error


def draw_curves(
    path: Path, lines: Mapping[str, Sequence[Sequence[float]]], x: str, y: str, scales: Sequence[str]
) -> None:
    """Draw curves into an SVG file; those whose names begin with "paper" are crosses, long ones have no markers."""
    from matplotlib.ticker import LogLocator, NullFormatter

    def draw(axes: Any) -> None:
        for label, points in lines.items():
            style: dict[str, Any] = {"marker": "."} if len(points) <= _MANY else {"linewidth": 0.6}
            if label.startswith("paper"):
                style = {"marker": "x", "linestyle": "none"}
            axes.plot(*zip(*points, strict=True), label=label, **style)
        axes.set(xlabel=x, ylabel=y, xscale=scales[0], yscale=scales[1])
        for axis in (axes.xaxis, axes.yaxis):
            if axis.get_scale() == "log":
                low, high = axis.get_view_interval()
                axis.set_major_locator(LogLocator(subs=(1,) if high > 50 * low else (1, 2, 5)))
                axis.set_minor_formatter(NullFormatter())
            if axis.get_scale() != "linear":
                axis.set_major_formatter(lambda value, place: f"{value:,.10g}")
        axes.figure.legend(loc="outside right upper", frameon=False, fontsize=7)

    draw_svg(path, draw, (7.6, 3.4))
