"""The ways out of a figure: pictures as PNG and SVG, its table as CSV, the clipboard, and the menu that offers them."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QGuiApplication, QImage, QPainter
from PySide6.QtWidgets import QFileDialog, QMenu, QMessageBox

__all__ = ["WaysOut"]


class WaysOut:
    """What a figure gives to other programs; a part of :class:`gui.figure.Figure`."""

    def export_png(self, path: str | Path, scale: float = 2.0) -> None:
        """Save the picture with title and legend; :class:`OSError` if it cannot be written."""
        if not self.to_image(scale).save(str(path), "PNG"):
            raise OSError(f"cannot write {path}")

    def export_svg(self, path: str | Path) -> None:
        """Save the picture as SVG; :class:`OSError` if it cannot be written."""
        Path(path).write_bytes(self.to_svg())

    def export_csv(self, path: str | Path) -> None:
        """Save :meth:`table` with full precision; :class:`OSError` if it cannot be written."""
        headers, rows = self.table()
        with open(path, "w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream)
            writer.writerow(headers)
            writer.writerows([["" if cell is None or cell != cell else cell for cell in row] for row in rows])

    def to_image(self, scale: float = 2.0, size: QSize | None = None) -> QImage:
        """The picture with title and legend, ``scale`` pixels a unit of the screen; ``size`` if not as it is shown."""
        self._scale = scale
        before, size = self.size(), self._prepared(size)
        image = QImage(size * scale, QImage.Format.Format_RGB32)
        image.setDevicePixelRatio(scale)
        image.fill(QColor(self.theme.base))
        painter = QPainter(image)
        self._paint(painter, size)
        painter.end()
        self._after_export(before)
        return image

    def to_svg(self, size: QSize | None = None) -> bytes:
        """The picture with title and legend as an SVG document; ``size`` if not as it is shown."""
        from PySide6.QtSvg import QSvgGenerator  # part of PySide6-Essentials, in a library of its own

        self._scale = 1.0
        before, size = self.size(), self._prepared(size)
        data = QByteArray()
        buffer = QBuffer(data)
        buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        generator = QSvgGenerator()
        generator.setOutputDevice(buffer)
        generator.setSize(size)
        generator.setViewBox(QRect(QPoint(0, 0), size))
        generator.setTitle(self.title)
        generator.setResolution(self.logicalDpiX())
        painter = QPainter(generator)
        painter.fillRect(QRect(QPoint(0, 0), size), QColor(self.theme.base))
        self._paint(painter, size)
        painter.end()
        self._after_export(before)
        return bytes(data.data())

    _scale = 1.0
    _tabled = False
    fine = False
    """Whether the next picture is for keeps: drawn as well as can be, whatever it costs."""

    def _prepared(self, wanted: QSize | None) -> QSize:
        """Draw for keeps, at the present size or at a usual one if it was never shown; the size of all."""
        if self.width() < 320 or self.height() < 200 or not self.testAttribute(Qt.WidgetAttribute.WA_WState_Created):
            self.resize(max(self.width(), 760), max(self.height(), 340))
        if wanted is not None:
            self.resize(wanted)
        self._tabled = self.data_button.isChecked()
        if self._tabled:
            self.data_button.setChecked(False)
        self.view.setEnabled(True)  # which makes it
        self.grab()  # lays out what was never shown
        self._keep_axes(axis_cache=False)
        self.fine = True
        self.redraw()
        heading = self.fontMetrics().height() + 8
        return QSize(self.view.width() + 16, self.view.height() + heading + self._legend_height() + 6)

    @property
    def pixels(self) -> float:
        """Pixels of the device per unit: what a pen of constant width has to be multiplied by."""
        return self._scale if self.fine else self.devicePixelRatioF()

    def _keep_axes(self, axis_cache: bool) -> None:
        """Whether axes are painted from a pixmap of their own, which would be coarse in an export."""
        for side in ("left", "bottom"):
            axis = self.plot.getAxis(side)
            mode = axis.CacheMode.DeviceCoordinateCache if axis_cache else axis.CacheMode.NoCache
            axis.setCacheMode(mode)

    def _after_export(self, before: QSize) -> None:
        self.resize(before)
        self._keep_axes(axis_cache=True)
        self.fine = False
        if self._tabled:
            self.data_button.setChecked(True)
        self.dirty = True
        self.soon()

    def _legend_height(self) -> int:
        return self._flow.heightForWidth(self.view.width()) + 2 if self.entries else 0

    def _paint(self, painter: QPainter, size: QSize) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        font = self.font()
        font.setBold(True)
        painter.setFont(font)
        painter.setPen(QColor(self.theme.text))
        line = self.fontMetrics().height()
        painter.drawText(8, 4 + self.fontMetrics().ascent(), self.title)
        left = 8 + painter.fontMetrics().horizontalAdvance(self.title + "  ")
        painter.setFont(self.font())
        painter.setPen(QColor(self.theme.muted))
        painter.drawText(left, 4 + self.fontMetrics().ascent(), self.unit)
        x, y = 8, line + 8
        for entry in self.entries:
            hint = entry.sizeHint()
            if x > 8 and x + hint.width() > size.width() - 8:
                x, y = 8, y + hint.height() + 1
            entry.paint(painter, QRect(QPoint(x, y), hint))
            x += hint.width() + 10
        top = line + 8 + self._legend_height()
        target = QRectF(8, top, self.view.width(), self.view.height())
        self.view.scene().render(painter, target, QRectF(self.view.viewport().rect()))

    @property
    def pictured(self) -> bool:
        """Whether there is a picture, and not a table alone."""
        return True

    # --- the menu -----------------------------------------------------------------------------------------------

    def _menu(self) -> QMenu:
        menu = QMenu(self)
        menu.aboutToShow.connect(lambda: menu.isEmpty() and self._fill_menu(menu))
        return menu

    def _fill_menu(self, menu: QMenu) -> None:
        """Made when it is first opened: a dashboard has many."""
        menu.addAction("Show all", lambda: self.fit())
        menu.addSeparator()
        menu.addAction("Copy picture", self._copy_picture)
        menu.addAction("Copy table", self._copy_table)
        menu.addSeparator()
        menu.addAction("Save as PNG…", lambda: self._save("PNG", "png", self.export_png))
        menu.addAction("Save as SVG…", lambda: self._save("SVG", "svg", self.export_svg))
        menu.addAction("Save data as CSV…", lambda: self._save("CSV", "csv", self.export_csv))

    def _copy_picture(self) -> None:
        QGuiApplication.clipboard().setImage(self.to_image())

    def _copy_table(self) -> None:
        headers, rows = self.table()
        lines = ["\t".join(headers), *("\t".join("" if c is None else str(c) for c in row) for row in rows)]
        QGuiApplication.clipboard().setText("\n".join(lines))

    def _save(self, kind: str, ending: str, export: Any) -> None:
        suggested = "".join(c if c.isalnum() else "-" for c in self.title.lower()).strip("-") + f".{ending}"
        path, _ = QFileDialog.getSaveFileName(self, f"Save {self.title}", suggested, f"{kind} (*.{ending})")
        if path:
            try:
                export(path)
            except OSError as error:
                QMessageBox.warning(self, "Not saved", f"{path} could not be written: {error.strerror or error}")
