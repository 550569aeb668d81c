"""Exports of a figure: PNG, SVG, PDF, CSV, the clipboard, and the menu that offers them."""

import csv
import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QMarginsF, QPoint, QRect, QSize, QSizeF
from PySide6.QtGui import QColor, QGuiApplication, QImage, QImageWriter, QPageSize, QPainter, QPdfWriter
from PySide6.QtWidgets import QFileDialog, QMenu, QMessageBox

from engine.util.files import reason_of
from gui.app.theme import LIGHT

_ONE_COLUMN, TWO_COLUMNS = 85, 175  # millimetres, of a journal
_SCREEN, _PRINT, _LOWEST = 96, 300, 190  # dots an inch; pixels of the screen


def print_size(millimetres: int = TWO_COLUMNS) -> QSize:
    """Pixels of a picture for print."""
    width = round(millimetres * _SCREEN / 25.4)
    return QSize(width, max(_LOWEST, round(0.55 * width)))


def caption_of(figure: Any) -> str:
    """What is written under it: title, unit, and what it means."""
    return f"{figure.title} ({figure.unit}). {figure.caption}".replace(" ()", "")


def write_plots(plots: Sequence[Any], kind: str, folder: Path) -> list[Path]:
    """Write each plot with data to a file named after its title: ``png``, ``svg``, ``pdf``, or ``csv`` with tables."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = [plot for plot in plots if (kind == "csv" or plot.pictured) and plot.table()[1]]
    words = [_word(plot.title) for plot in wanted]
    written: list[Path] = []
    for number, (plot, word) in enumerate(zip(wanted, words, strict=True), start=1):
        if words.count(word) > 1:  # titles that may differ in their signs alone
            word = _word(re.sub(r"[^\w\s-]", lambda sign: f" {unicodedata.name(sign[0], '')} ", plot.title))
        written.append(folder / f"{number:02}-{word or 'plot'}.{kind}")
        plot.export.write(written[-1])
    return written


def _word(title: str) -> str:
    return re.sub(r"[^\w-]+", "-", title.lower()).strip("-")


class FigureExport:
    """Writes one :class:`gui.plot.figure.Figure`, whose module imports this one, to files and to the clipboard."""

    def __init__(self, figure: Any) -> None:
        self._figure = figure

    def write(self, path: str | Path, millimetres: int = TWO_COLUMNS, described: bool = False) -> None:
        """Save as ``.csv``, ``.png``, ``.svg`` or ``.pdf``; ``described`` with table, caption and command beside it."""
        path, figure = Path(path), self._figure
        suffix = path.suffix.lower()
        if suffix == ".csv":
            headers, rows = figure.table()
            with open(path, "w", newline="", encoding="utf-8") as stream:
                writer = csv.writer(stream)
                writer.writerow(headers)
                writer.writerows([["" if cell is None or cell != cell else cell for cell in row] for row in rows])
            return
        size, theme = print_size(millimetres), figure.theme
        figure.set_theme(LIGHT)
        try:
            if suffix == ".png":
                image = self.to_image(_PRINT / _SCREEN, size)
                image.setDotsPerMeterX(round(_PRINT / 0.0254))
                image.setDotsPerMeterY(round(_PRINT / 0.0254))
                pictures = QImageWriter(str(path), QByteArray(b"png"))
                if not pictures.write(image):
                    raise OSError(f"cannot write {path}: {pictures.errorString()}")
            else:
                path.write_bytes(self.to_pdf(size) if suffix == ".pdf" else self.to_svg(size))
        finally:
            figure.set_theme(theme)
        if described:
            self.write(path.with_suffix(".csv"))
            text = caption_of(figure)
            path.with_suffix(".txt").write_text(f"{text}\n\n{figure.command()}\n", encoding="utf-8")

    def to_image(self, scale: float = 2.0, size: QSize | None = None) -> QImage:
        """The picture with title and legend, ``scale`` pixels for each unit of the screen."""
        with self._figure.in_full_quality(size, scale) as whole:
            image = QImage(whole * scale, QImage.Format.Format_RGB32)
            image.setDevicePixelRatio(scale)
            image.fill(QColor(self._figure.theme.base))
            painter = QPainter(image)
            self._figure.paint(painter, whole)
            painter.end()
        return image

    def to_svg(self, size: QSize | None = None) -> bytes:
        """The picture with title and legend as an SVG document; ``size`` as in :meth:`to_image`."""
        from PySide6.QtSvg import QSvgGenerator  # part of PySide6-Essentials, in a library of its own

        figure = self._figure
        data = QByteArray()
        buffer = QBuffer(data)
        buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        with figure.in_full_quality(size) as whole:
            generator = QSvgGenerator()
            generator.setOutputDevice(buffer)
            generator.setSize(whole)
            generator.setViewBox(QRect(QPoint(0, 0), whole))
            generator.setTitle(figure.title)
            generator.setResolution(figure.logicalDpiX())
            painter = QPainter(generator)
            painter.fillRect(QRect(QPoint(0, 0), whole), QColor(figure.theme.base))
            figure.paint(painter, whole)
            painter.end()
        text = bytes(data.data())  # browsers have Times for families that they do not know
        return re.sub(rb'font-family="([^",]+)"', rb'font-family="\1, sans-serif"', text)

    def to_pdf(self, size: QSize | None = None) -> bytes:
        """The picture with title and legend as a PDF of one page; ``size`` as in :meth:`to_image`."""
        figure, data = self._figure, QByteArray()
        buffer = QBuffer(data)
        buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        with figure.in_full_quality(size) as whole:
            writer = QPdfWriter(buffer)
            writer.setResolution(_SCREEN)
            writer.setPageSize(QPageSize(QSizeF(whole) * 72 / _SCREEN, QPageSize.Unit.Point))
            writer.setPageMargins(QMarginsF())
            writer.setTitle(figure.title)
            painter = QPainter(writer)
            figure.paint(painter, whole)
            painter.end()
        return bytes(data.data())

    def menu(self) -> QMenu:
        """A menu that is filled when it is first opened, since a dashboard has many."""
        menu = QMenu(self._figure)

        def fill() -> None:
            if menu.isEmpty():
                self._fill(menu)

        menu.aboutToShow.connect(fill)
        return menu

    def _fill(self, menu: QMenu) -> None:
        menu.addAction("Show all", self._figure.fit)
        menu.addSeparator()
        menu.addAction("Copy picture", self._copy_picture)
        menu.addAction("Copy table", self._copy_table)
        menu.addSeparator()
        menu.addAction("Save…", lambda: self._save(TWO_COLUMNS, False))
        menu.addAction(f"Save for print, {_ONE_COLUMN} mm wide…", lambda: self._save(_ONE_COLUMN, True))
        menu.addAction(f"Save for print, {TWO_COLUMNS} mm wide…", lambda: self._save(TWO_COLUMNS, True))

    def _copy_picture(self) -> None:
        QGuiApplication.clipboard().setImage(self._figure.to_image())

    def _copy_table(self) -> None:
        headers, rows = self._figure.table()
        lines = ["\t".join(headers), *("\t".join("" if c is None else str(c) for c in row) for row in rows)]
        QGuiApplication.clipboard().setText("\n".join(lines))

    def _save(self, millimetres: int, described: bool) -> None:
        title = self._figure.title
        suggested = "".join(c if c.isalnum() else "-" for c in title.lower()).strip("-") + ".pdf"
        kinds = "PDF (*.pdf);;SVG (*.svg);;PNG (*.png)" + ("" if described else ";;CSV (*.csv)")
        path, _ = QFileDialog.getSaveFileName(self._figure, f"Save {title}", suggested, kinds)
        if path:
            try:
                self.write(path, millimetres, described)
            except OSError as error:
                message = f"{path} could not be written: {reason_of(error)}"
                QMessageBox.warning(self._figure, "Not saved", message)
