"""The tool bar: Run, Pause, Stop, and the settings time limit, backend, devices, and where to run."""

from collections.abc import Mapping
from typing import Any

from PySide6.QtCore import QLocale, QSize, Qt, Signal
from PySide6.QtGui import QAction, QDoubleValidator
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QMenu,
    QSizePolicy,
    QSpinBox,
    QToolBar,
    QToolButton,
    QWidget,
    QWidgetAction,
)

from engine.settings.config import Settings
from gui.app.icons import set_icon
from gui.app.widgets import filled
from gui.window.places import PlaceBox

_MOST_TIMES = 8  # in one pool
_BACKENDS = (("auto", "Auto"), ("cuda", "CUDA"), ("opencl", "OpenCL"))


class ToolBar(QToolBar):
    """Controls and settings; ``changed()`` when a setting changes."""

    changed = Signal()

    def __init__(self, actions: Mapping[str, QAction], parent: QWidget) -> None:
        super().__init__("Main", parent)
        self.setObjectName("main")
        self.setMovable(False)
        self.setIconSize(QSize(18, 18))
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.toggleViewAction().setEnabled(False)
        self.base = Settings()
        self._known: list[dict[str, Any]] = []
        self._wanted: list[str] = []
        self._labels: list[QAction] = []
        self._steering: list[QToolButton] = []
        self._compact = False
        for name in ("start", "pause", "stop"):
            self.addAction(actions[name])
            button = self.widgetForAction(actions[name])
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            button.setAccessibleName(actions[name].text().replace("&", ""))
            assert isinstance(button, QToolButton)
            if name == "pause":  # its text changes, its neighbours should not move
                self._pause_width = button.fontMetrics().horizontalAdvance("Play again") + 52
                button.setMinimumWidth(self._pause_width)
            if name != "start":
                self._steering.append(button)
            if name == "start":
                button.setObjectName("run")
        set_icon(actions["start"], "run")
        self.addSeparator()
        self.time_limit = QLineEdit()
        limits = QDoubleValidator(0.0, 1e9, 3, self)
        limits.setLocale(QLocale.c())
        self.time_limit.setValidator(limits)
        self.time_limit.setPlaceholderText("none")
        self.time_limit.setFixedWidth(70)
        self.time_limit.setToolTip("Seconds after which a run ends with its best solution so far; pauses do not count")
        self.time_limit.setAccessibleName("Time limit in seconds")
        self._labelled("Time limit", self.time_limit)
        self._labels.append(self.addWidget(QLabel("s")))
        self.backend = QComboBox()
        for value, text in _BACKENDS:
            self.backend.addItem(text, value)
        self.backend.setToolTip(str(Settings.model_fields["backend"].description))
        self.backend.setAccessibleName("Backend")
        self._labelled("Backend", self.backend)
        self.devices = QToolButton()
        self.devices.setObjectName("devices")
        self.devices.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.devices.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.devices.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        set_icon(self.devices, "device")
        self.devices.setAccessibleName("Devices")
        self.menu = QMenu(self)
        self.devices.setMenu(self.menu)
        self._labelled("Devices", self.devices)
        self.place = PlaceBox()
        self._labelled("Run on", self.place)
        room = QWidget()
        room.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.addWidget(room)
        for name in ("find_command", "switch_theme"):
            self.addAction(actions[name])
            button = self.widgetForAction(actions[name])
            assert isinstance(button, QToolButton)
            button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonIconOnly)
            button.setAccessibleName(actions[name].text().replace("&", ""))
        self.time_limit.textChanged.connect(lambda _text: self.changed.emit())
        self.backend.currentIndexChanged.connect(self._on_backend)
        self.place.changed.connect(self.changed)
        self._fill()

    def _labelled(self, text: str, widget: QWidget) -> None:
        label = QLabel(text)
        label.setBuddy(widget)
        self._labels.append(self.addWidget(label))
        self.addWidget(widget)

    def set_compact(self, compact: bool) -> None:
        """In a narrow window, leave out the labels of the settings and the texts of Pause and Stop: all fits then."""
        if compact == self._compact:
            return
        self._compact = compact
        for label in self._labels:
            label.setVisible(not compact)
        self.time_limit.setPlaceholderText("limit in s" if compact else "none")
        style = Qt.ToolButtonStyle.ToolButtonIconOnly if compact else Qt.ToolButtonStyle.ToolButtonTextBesideIcon
        for button in self._steering:
            button.setToolButtonStyle(style)
        self._steering[0].setMinimumWidth(0 if compact else self._pause_width)

    def set_base(self, base: Settings) -> None:
        self.base = base
        self.set_values({"backend": base.backend, "devices": base.devices, "time_limit": base.time_limit})

    def show_devices(self, devices: list[dict[str, Any]], missing: dict[str, str]) -> None:
        self._known = devices
        self._fill(missing)
        languages = {device["language"] for device in devices}
        for row, (value, _) in enumerate(_BACKENDS):
            tip = missing.get(value, "")
            self.backend.setItemData(row, tip, Qt.ItemDataRole.ToolTipRole)
            item = self.backend.model().item(row)  # type: ignore[attr-defined]
            item.setEnabled(value == "auto" or value in languages)

    def set_values(self, values: Mapping[str, Any]) -> None:
        if "time_limit" in values:
            self.time_limit.setText(f"{values['time_limit']:.12g}" if values["time_limit"] else "")
        if "backend" in values:
            self.backend.setCurrentIndex(max(0, self.backend.findData(values["backend"])))
        if "devices" in values:
            self._wanted = list(values["devices"] or [])
            self._fill()
        if "cluster" in values or "host" in values:
            self.place.choose(values.get("cluster"), values.get("host"))
        self.changed.emit()

    def values(self) -> dict[str, Any]:
        return {
            "backend": self.backend.currentData(),
            "devices": list(self._wanted) or None,
            "time_limit": _seconds(self.time_limit.text()),
            "cluster": self.place.cluster,
            "host": self.place.host,
        }

    def given(self) -> dict[str, Any]:
        """The settings that differ from their base values."""
        given = {name: value for name, value in self.values().items() if value != getattr(self.base, name, None)}
        if "devices" in given and given["devices"] is None:
            del given["devices"]
        return given

    def _on_backend(self) -> None:
        language = self.backend.currentData()
        if language != "auto":
            self._wanted = [name for name in self._wanted if name.startswith(f"{language}:")]
        self._fill()
        self.changed.emit()

    def _fill(self, missing: Mapping[str, str] | None = None) -> None:
        """Fill the menu: a check box for each device of the backend."""
        self.menu.clear()
        self.boxes: dict[str, QCheckBox] = {}
        self.counts: dict[str, QSpinBox] = {}
        language = self.backend.currentData()
        for device in self._known:
            if language in ("auto", device["language"]):
                self.menu.addAction(self._device_row(device))
        if not self.boxes:
            self.menu.addAction("No device found" if self._known or missing else "Looking for devices…").setEnabled(
                False
            )
        for reason in (missing or {}).values():
            self.menu.addAction(reason if len(reason) < 90 else reason[:89] + "…").setEnabled(False)
        self._show_chosen()

    def _device_row(self, device: Mapping[str, Any]) -> QWidgetAction:
        """A check box, and how often the device is in the pool: twice means two contexts and two threads."""
        name = device["id"]
        box = QCheckBox(f"{name}   {device['name']}")
        box.setToolTip(f"{device['platform']} {device['driver']}")
        box.setChecked(name in self._wanted)
        count = QSpinBox(prefix="× ")
        count.setRange(1, _MOST_TIMES)
        count.setValue(max(1, self._wanted.count(name)))
        count.setEnabled(box.isChecked())
        count.setToolTip("How often this device is in the pool, each time with its own thread and context")
        count.setAccessibleName(f"Count of {name} in the pool")
        box.toggled.connect(count.setEnabled)
        box.toggled.connect(lambda on: self._tick(name, count.value() if on else 0))
        count.valueChanged.connect(lambda times: self._tick(name, times))
        row = QWidget()
        filled(QHBoxLayout(row), (box, 1), count, margins=(14, 3, 10, 3))
        row.setFocusProxy(box)
        self.boxes[name], self.counts[name] = box, count
        action = QWidgetAction(self.menu)
        action.setDefaultWidget(row)
        return action

    def _tick(self, name: str, times: int) -> None:
        self._wanted = [other for other in self._wanted if other != name] + times * [name]
        order = [device["id"] for device in self._known]
        self._wanted.sort(key=lambda other: order.index(other) if other in order else len(order))
        self._show_chosen()
        self.changed.emit()

    def _show_chosen(self) -> None:
        times = {name: self._wanted.count(name) for name in self._wanted}
        text = ", ".join(name if count == 1 else f"{name} ×{count}" for name, count in times.items()) or "default"
        self.devices.setText(text if len(text) <= 24 else f"{len(self._wanted)} devices")
        names = {device["id"]: device["name"] for device in self._known}
        chosen = [f"{name} ({names[name]})" if name in names else name for name in self._wanted]
        self.devices.setToolTip(", ".join(chosen) or "Every GPU of the backend, or its first device if it has none")


def _seconds(text: str) -> float | None:
    """A time limit; None if there is none, or the text is not a number yet."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if value > 0 else None
