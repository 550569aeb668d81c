"""The bars above and below a dashboard: messages, and the controls of a replay."""

import math

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QFrame, QHBoxLayout, QSlider, QToolButton

from engine.util.text import seconds_text
from gui.app.icons import set_icon
from gui.app.widgets import filled, text_label
from gui.runs.player import Player

SPEEDS: tuple[tuple[str, float], ...] = (
    ("¼ ×", 0.25),
    ("½ ×", 0.5),
    ("1 ×", 1.0),
    ("2 ×", 2.0),
    ("5 ×", 5.0),
    ("20 ×", 20.0),
    ("100 ×", 100.0),
    ("at once", math.inf),
)


class Banner(QFrame):
    """A message across the top of a tab, with a button to dismiss it."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("banner")
        self.text = text_label(wrap=True, plain=True, selectable=True, name="Message")
        self.button = QToolButton(autoRaise=True)
        set_icon(self.button, "close")
        self.button.setAccessibleName("Dismiss the message")
        self.button.clicked.connect(self.hide)
        filled(QHBoxLayout(self), (self.text, 1), (self.button, 0, Qt.AlignmentFlag.AlignTop), margins=(10, 5, 5, 5))
        self.hide()

    def show_message(self, message: str, level: str = "error") -> None:
        """Show a message; ``level`` is info, warning or error."""
        self.setProperty("level", level)
        self.style().unpolish(self)
        self.style().polish(self)
        self.text.setText(message)
        self.show()


class ReplayBar(QFrame):
    """Play, position and speed of a replay; ``toggled()`` when it is paused or resumed."""

    toggled = Signal()

    def __init__(self, player: Player) -> None:
        super().__init__()
        self.setObjectName("header")
        self.player = player
        self.play = QToolButton(autoRaise=True)
        self.play.clicked.connect(self.toggle)
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setRange(0, 1000)
        self.slider.setPageStep(50)
        self.slider.setAccessibleName("Position in the recorded run")
        self.slider.actionTriggered.connect(lambda _action: self._seek(self.slider.sliderPosition()))
        self.slider.sliderReleased.connect(lambda: self._seek(self.slider.sliderPosition()))
        self.clock = text_label(kind="muted")
        self.speed = QComboBox()
        self.speed.setAccessibleName("Speed of the replay")
        for text, value in SPEEDS:
            self.speed.addItem(text, value)
        self.speed.setCurrentIndex(next((i for i, (_, v) in enumerate(SPEEDS) if v == player.speed), 2))
        self.speed.currentIndexChanged.connect(lambda _index: player.set_speed(self.speed.currentData()))
        filled(QHBoxLayout(self), self.play, (self.slider, 1), self.clock, self.speed, margins=(8, 4, 8, 4))
        self._state = ""
        self.follow()

    def toggle(self) -> None:
        """Pause or resume; at the end, play again from the beginning."""
        if self.player.over or self.player.paused:
            self.player.resume()
        else:
            self.player.pause()
        self.follow()
        self.toggled.emit()

    def _seek(self, place: int) -> None:
        if not self.slider.isSliderDown():
            self.player.show(place / 1000 * self.player.duration)

    def follow(self) -> None:
        state = "replay" if self.player.over else "run" if self.player.paused else "pause"
        if state != self._state:
            self._state = state
            words = {"replay": "Play from the beginning", "run": "Resume the replay", "pause": "Pause the replay"}[
                state
            ]
            set_icon(self.play, state)
            self.play.setToolTip(words)
            self.play.setAccessibleName(words)
        if not self.slider.isSliderDown() and self.player.duration > 0:
            self.slider.setValue(round(1000 * min(1.0, self.player.position / self.player.duration)))
        self.clock.setText(f"{seconds_text(self.player.position)} of {seconds_text(self.player.duration)}")
