"""A run's context without folder and observers, which collects the values that a solver reports to it."""

from engine.base.context import QuietContext


class Owner(QuietContext):
    def __init__(self):
        super().__init__()
        self.notices = []
        self.metrics = []
        self.saved = []

    def metric(self, name, value, device=None):
        self.metrics.append((name, value, device))

    def notice(self, message, level="info"):
        self.notices.append(message)

    def warn(self, warning, late=False):
        self.notices.append(str(warning))

    def save_checkpoint(self, arrays, state):
        self.saved.append((arrays, state))
