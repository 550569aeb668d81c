"""Stopping a run at an event, on the thread that emits it, so that the run cannot have ended before."""

from engine.runs import reporter
from engine.runs.publisher import Publisher
from engine.runs.run import Run


def stop_at(patch, wanted):
    """From now on, a run is stopped when it emits an event that is ``wanted``; the list gets these events.

    No event is held back, so a run that is over within a tenth of a second has some on the way; and they are made also
    where nobody else listens.
    """
    seen = []
    patch.setattr(Publisher, "__bool__", lambda publisher: True)
    patch.setattr(reporter, "METRIC_INTERVAL", 0.0)
    emit = Run.emit

    def emit_and_stop(run, event):
        emit(run, event)
        if wanted(event):
            seen.append(event)
            run.stop()

    patch.setattr(Run, "emit", emit_and_stop)
    return seen
