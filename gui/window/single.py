"""One window for each data folder: a second start hands its files to the window that is open, and ends."""

import contextlib
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtNetwork import QLocalServer, QLocalSocket

_PATIENCE = 3000  # milliseconds; a window that does not answer so long is not waited for


def _name(home: Path) -> str:
    return f"quintet-{hashlib.sha256(str(home.resolve()).encode()).hexdigest()[:24]}"


def show_elsewhere(home: Path, files: Sequence[Path], kind: str | None) -> bool:
    """Have the window on this data folder come to the front and open these files; False if there is none."""
    socket = QLocalSocket()
    socket.connectToServer(_name(home))
    if not socket.waitForConnected(_PATIENCE):
        return False
    socket.write(json.dumps([[str(path.resolve()) for path in files], kind]).encode() + b"\n")
    socket.flush()
    return socket.waitForReadyRead(_PATIENCE)


class Single(QObject):
    """Listens for later starts; ``asked(paths, kind)`` when one wants files to be opened."""

    asked = Signal(list, object)

    def __init__(self, home: Path, parent: QObject) -> None:
        super().__init__(parent)
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._on_connection)
        QLocalServer.removeServer(_name(home))  # of a window that was killed
        self._server.listen(_name(home))

    def _on_connection(self) -> None:
        socket = self._server.nextPendingConnection()
        socket.readyRead.connect(lambda: self._read(socket))
        socket.disconnected.connect(socket.deleteLater)
        self._read(socket)  # what came with the connection

    def _read(self, socket: QLocalSocket) -> None:
        if socket.canReadLine():
            with contextlib.suppress(ValueError, TypeError):
                paths, kind = json.loads(bytes(socket.readLine().data()))
                self.asked.emit([Path(path) for path in paths], kind)
            socket.write(b"shown\n")
            socket.flush()
