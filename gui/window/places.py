"""Where runs are computed: this computer, a Dask cluster, or another host over ssh; the dialog that adds a host."""

from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from engine.base.option_models import Given, validated
from engine.errors import OptionError
from engine.execution.hosts import Host, save_host, saved_clusters, saved_hosts, ssh_words
from gui.app.widgets import filled, text_label
from gui.window.device_query import DeviceQuery

HERE = "This computer"
_ADD = "Add a host…"
_SSH = "ssh:"


class PlaceBox(QComboBox):
    """The choice of a place; ``changed()`` when another one is chosen or typed."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setEditable(True)
        self.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.setMinimumWidth(130)
        self.setToolTip(
            "This computer; another host over ssh (ssh:HOST), where Quintet is installed; or a Dask cluster: the "
            "address of a scheduler (tcp://HOST:PORT), local:N for N worker processes, a TOML file, or a saved name"
        )
        self.setAccessibleName("Run on")
        self._former = HERE
        self.fill()
        self.currentTextChanged.connect(self._on_text)
        self.activated.connect(self._on_activated)

    def fill(self) -> None:
        text = self.currentText() or HERE
        self.blockSignals(True)
        self.clear()
        self.addItem(HERE)
        for prefix, saved in (("", saved_clusters()), (_SSH, saved_hosts())):
            for name, path in saved.items():
                self.addItem(prefix + name)
                self.setItemData(self.count() - 1, str(path), Qt.ItemDataRole.ToolTipRole)
        self.insertSeparator(self.count())
        self.addItem(_ADD)
        self.setCurrentText(text)
        self.blockSignals(False)

    def choose(self, cluster: str | None, host: str | None) -> None:
        self.setCurrentText(_SSH + host if host else cluster or HERE)

    @property
    def cluster(self) -> str | None:
        """The cluster to run on; None for this computer or another host."""
        text = self._text
        return None if text in ("", HERE) or text.startswith(_SSH) else text

    @property
    def host(self) -> str | None:
        """The host to run on over ssh; None for this computer or a cluster."""
        text = self._text
        return text.removeprefix(_SSH).strip() or None if text.startswith(_SSH) else None

    @property
    def _text(self) -> str:
        return self.currentText().strip()

    def _on_text(self, text: str) -> None:
        if text != _ADD:
            self._former = text
            self.changed.emit()

    def _on_activated(self, index: int) -> None:
        if self.itemText(index) == _ADD:
            self.setCurrentText(self._former)
            dialog = HostDialog(self.window())
            dialog.saved.connect(self._on_saved)
            dialog.open()

    def _on_saved(self, name: str) -> None:
        self.fill()
        self.setCurrentText(_SSH + name)


class HostDialog(QDialog):
    """Asks for a host, tries to connect, and saves it; ``saved(name)``."""

    saved = Signal(str)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle("Add a host")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._query: DeviceQuery | None = None
        self.destination, self.name, self.command = QLineEdit(), QLineEdit(), QLineEdit("quintet")
        self.destination.setPlaceholderText("user@host, or a name of ~/.ssh/config")
        self.name.setPlaceholderText("how the list shows it")
        self.command.setToolTip("For example ~/quintet/.venv/bin/quintet: shells that ssh starts may have a short PATH")
        form = QFormLayout()
        for title, line in (("Host", self.destination), ("Name", self.name), ("Command", self.command)):
            form.addRow(title, line)
            line.setAccessibleName(title)
            line.setMinimumWidth(320)
        about = text_label(
            "Quintet is started there over ssh, with a key or an agent: nothing asks for a password here. "
            "Problems are sent to the host, and run folders come back.",
            wrap=True,
        )
        self.state = text_label(wrap=True, plain=True, name="State of the connection")
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Save | QDialogButtonBox.StandardButton.Cancel)
        self.connect_button: QPushButton = self.buttons.addButton("Connect", QDialogButtonBox.ButtonRole.ActionRole)
        self.buttons.accepted.connect(self._save)
        self.buttons.rejected.connect(self.reject)
        self.connect_button.clicked.connect(self.check)
        filled(QVBoxLayout(self), about, form, self.state, self.buttons)

    def check(self) -> None:
        """Try to connect, and show the devices of the host."""
        host = self._host()
        if host is None:
            return
        self._end_query()
        self.state.setText("Connecting…")
        self._query = DeviceQuery(ssh_words(host, "devices --json", ask=False), self)
        self._query.found.connect(self._on_devices)
        self._query.failed.connect(lambda reason: self.state.setText(f"Quintet could not be started there: {reason}"))

    def _on_devices(self, devices: list[dict[str, Any]], _missing: dict[str, str]) -> None:
        names = ", ".join(f"{device['id']} ({device['name']})" for device in devices)
        self.state.setText(f"Connected; devices: {names or 'none'}")

    def done(self, result: int) -> None:
        self._end_query()
        super().done(result)

    def _end_query(self) -> None:
        if self._query is not None:
            self._query.close()
            self._query.deleteLater()
            self._query = None

    def _host(self) -> Host | None:
        """What is written; None, with a message, if it is no host."""
        given = {"destination": self.destination.text().strip(), "command": self.command.text().strip() or "quintet"}
        try:
            return validated(Host, {key: Given(value) for key, value in given.items()}, what="host")
        except OptionError as error:
            self.state.setText(str(error))
            return None

    def _save(self) -> None:
        host = self._host()
        if host is None:
            return
        name = self.name.text().strip() or host.destination.rpartition("@")[2]
        try:
            save_host(name, host)
        except OptionError as error:
            self.state.setText(str(error))
            return
        self.saved.emit(name)
        self.accept()
