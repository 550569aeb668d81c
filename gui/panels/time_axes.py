"""Where the time axes of a dashboard begin."""

from gui.plot.live import LivePlot

_SOON = 0.1  # seconds; an axis begins at 0 where the first values come before
_LATE = 1.0  # seconds; a recording that begins later is of a run whose beginning is not known


class TimeAxes:
    """Lets time axes begin where the work does, earlier still after a resume; plots of the devices with the run."""

    def __init__(self) -> None:
        self._plots: list[LivePlot] = []
        self._run = 0.0
        self._work: float | None = None

    def add(self, plot: LivePlot) -> None:
        """Let one more plot begin there, if its horizontal axis is the time."""
        if plot.across == "s":
            self._plots.append(plot)
            self._place(plot)

    def begin_run(self, time: float) -> None:
        """The first session that is known begins."""
        self._run = time if time > _LATE else 0.0
        self._place_all()

    def begin_work(self, time: float) -> None:
        """There are values of that time."""
        if self._work is None or time < self._work:
            self._work = time if time > _SOON else 0.0
            self._place_all()

    def resume(self, time: float) -> None:
        """The run is resumed from a checkpoint, which may be older than the values that are there."""
        if self._work is not None:
            self.begin_work(time)

    def _place_all(self) -> None:
        for plot in self._plots:
            self._place(plot)

    def _place(self, plot: LivePlot) -> None:
        plot.set_origin(self._run if plot.whole_run or self._work is None else self._work)
