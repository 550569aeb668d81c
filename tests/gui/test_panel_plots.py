"""Plots: what they draw, say and write; schedules and boards checked against their rules."""

import csv
import itertools
import math
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QImage
from PySide6.QtWidgets import QTabWidget

import engine
from gui.app.meaning import Meaning
from gui.app.theme import DARK, LIGHT
from gui.pictures.board import Board, queens_placement
from gui.pictures.gantt import Gantt, schedule
from gui.pictures.network import NetworkView, network_places
from gui.pictures.tour import Tour
from gui.plot.axes import LogAxis
from gui.plot.charts import BandPlot, Bars, Pixels
from gui.plot.listing import Listing
from gui.plot.live import LivePlot
from gui.plot.page import Page
from gui.plot.stacked import StackedPlot

SVG = "{http://www.w3.org/2000/svg}"


def wave(plot, count=200):
    for k in range(count):
        for device in ("a", "b"):
            plot.series(device).append(k / 10, 5 + math.sin(k / 9) + (device == "b"))
    return plot


def shown(qtbot, figure):
    qtbot.addWidget(figure)
    figure.resize(700, 360)
    figure.show()
    figure.refresh()
    return figure


def figures(theme):
    """One of each kind, with something in it."""
    band = BandPlot("Band", theme=theme)
    bars = Bars("Bars", theme=theme, whole="all")
    pixels = Pixels("Pixels", theme=theme, across="gene", down="individual", binary=True)
    gantt, board, tour = Gantt(theme=theme), Board(theme=theme), Tour(theme=theme)
    network = NetworkView("Network", theme=theme)
    random = np.random.default_rng(5)
    for k in range(50):
        band.append("a", k / 10, k, k + 20, theme.colour(0))
    bars.put("a", 0.4, theme.colour(0))
    pixels.show_matrix(random.integers(0, 2, (20, 30)))
    gantt.show_schedule(random.integers(1, 99, (5, 8)), random.permutation(8))
    board.show_queens(queens_placement(8) or [], "one of 92")
    tour.show_tour(random.integers(1, 99, (7, 7)), np.arange(7))
    network.show_network(12, np.array([[0, 1], [1, 2], [5, 7]]))
    return [
        *(wave(LivePlot("Lines", "1/s", theme=theme)), wave(LivePlot("Log", "1/s", log=True, theme=theme))),
        *(wave(StackedPlot("Stack", theme=theme)), wave(StackedPlot("Shares", theme=theme, shares=True))),
        *(band, bars, pixels, gantt, board, tour, network),
    ]


def painted(image):
    """How many colours there are, as a sign that something was drawn."""
    return len({image.pixel(x, y) for x in range(0, image.width(), 3) for y in range(0, image.height(), 3)})


@pytest.mark.parametrize("kind", [engine.Flowshop, engine.FlowTime, engine.BlockingFlowshop, engine.NoWaitFlowshop])
def test_a_schedule_obeys_its_problems_rule(kind):
    random = np.random.default_rng(7)
    problem = kind(random.integers(0, 9, (4, 6)))
    order = random.permutation(6)
    begin, end = schedule(problem.times, order, problem.kind)
    assert np.array_equal(end - begin, problem.times[:, order])
    assert (begin[1:] >= end[:-1]).all()
    assert (begin[:, 1:] >= end[:, :-1]).all()
    if kind is engine.FlowTime:
        assert end[-1].sum() == problem.evaluate(order)
    else:
        assert end[-1, -1] == problem.evaluate(order)
    if kind is engine.NoWaitFlowshop:
        assert np.array_equal(begin[1:], end[:-1])
    if kind is engine.BlockingFlowshop:  # a machine is free once its job is on the next one
        assert (begin[:-1, 1:] >= begin[1:, :-1]).all()


@pytest.mark.few(1)
@pytest.mark.parametrize(("theme", "millimetres"), [(LIGHT, 175), (DARK, 85)], ids=["light", "dark"])
def test_every_figure_is_written_for_print_whatever_its_size_and_theme(qtbot, tmp_path, theme, millimetres):
    pages = QTabWidget()
    qtbot.addWidget(pages)
    made = figures(theme)
    for figure in made:
        page = Page(2)
        page.put(figure, wide=2)
        pages.addTab(page, figure.title)
    pages.resize(1200, 900)
    pages.setVisible(theme is LIGHT)  # exports do not need that, and pages that are not seen do not resize them
    for figure in made:
        figure.describe(Meaning("It means something.", "", ""), lambda: "quintet solve a.txt")
        figure.export.write(tmp_path / "figure.png", millimetres, described=True)
        assert (tmp_path / "figure.txt").read_text().endswith("It means something.\n\nquintet solve a.txt\n")
        image = QImage(str(tmp_path / "figure.png"))
        assert painted(image) > 3, figure.title
        assert image.pixelColor(2, 2) == QColor(LIGHT.base), figure.title
        assert image.width() / image.dotsPerMeterX() == pytest.approx(millimetres / 1000, rel=0.02), figure.title
        assert figure.theme is theme
        assert figure.maximumWidth() > 9999
        figure.export.write(tmp_path / "figure.pdf", millimetres)
        assert (tmp_path / "figure.pdf").read_bytes().startswith(b"%PDF")
        figure.export.write(tmp_path / "figure.svg", millimetres)
        root = ElementTree.parse(tmp_path / "figure.svg").getroot()
        assert root.tag == f"{SVG}svg"
        families = {part.get("font-family") for part in root.iter() if part.get("font-family")}
        assert families
        assert all(family.endswith(", sans-serif") for family in families)
        texts = "".join("".join(node.itertext()) for node in root.iter(f"{SVG}text"))
        assert figure.title.replace(" ", "") in texts
        with open(tmp_path / "figure.csv", newline="") as stream:
            headers, *rows = list(csv.reader(stream))
        assert headers == figure.table()[0]
        assert len(rows) == len(figure.table()[1]) > 0, figure.title


def test_a_logarithmic_axis_has_an_end_for_zero_and_leaves_out_negative_numbers(qtbot):
    plot = LivePlot("Gap", log=True, theme=LIGHT)
    for k, value in enumerate((1e3, 0.0, -5.0, 1e-4)):
        plot.series("gap").append(k, value)
    shown(qtbot, plot)
    x, y = plot.curves[0].item.getData()
    assert (x.tolist(), y.tolist()) == ([0.0, 1.0, 3.0], [3.0, -5.0, -4.0])
    texts = plot.plot.getAxis("left").tickStrings([-5.0, -4.5, -4.0, 0.0], 1.0, 1.0)
    assert texts == ["0", "", "10⁻⁴", "1"]
    assert LogAxis("left").tickStrings([2.0, 3.0, 4.0, 6.0, 14.0], 1.0, 2.0) == ["100", "1k", "10k", "1M", "100T"]
    assert LogAxis("left").tickStrings([2.0, 4.0, 6.0, 16.0], 1.0, 2.0) == ["10²", "10⁴", "10⁶", "10¹⁶"]


def test_a_listing_stays_sorted_when_its_rows_are_replaced(qtbot):
    listing = Listing("Processes", theme=LIGHT)
    qtbot.addWidget(listing)
    rows = [("b", 2.0), ("a", math.nan), ("d", None), ("c", 10.0), ("e", "none")]

    def names():
        model = listing._table.model()
        return "".join(str(model.index(row, 0).data()) for row in range(model.rowCount()))

    listing.put(["name", "GB"], rows)
    assert names() == "badce"  # as they were given
    listing._table.sortByColumn(1, Qt.SortOrder.DescendingOrder)
    assert names()[:3] == "ecb"
    listing.put(["name", "GB"], [*rows, ("f", 5.0)])
    assert names()[:4] == "ecfb"
    for words, found in (("5", "f"), ("none E", "e")):
        listing.filter.setText(words)
        assert names() == found


def test_a_zoomed_plot_stays_until_all_is_asked_for_and_a_hidden_line_does_not_set_the_range(qtbot):
    plot = shown(qtbot, wave(LivePlot("Speed", theme=LIGHT)))
    box = plot.plot.getViewBox()
    box.setRange(xRange=(1, 2), padding=0)
    box.sigRangeChangedManually.emit((True, True))
    plot.series("b").append(500.0, 1000.0)
    plot.refresh()
    assert box.viewRange()[0] == pytest.approx([1, 2])
    plot.fit()
    (_, end), (_, top) = box.viewRange()
    assert (end >= 500, top >= 1000) == (True, True)
    plot.entries[1].click()
    assert box.viewRange()[1][1] < 20
    assert not plot.curves[1].item.isVisible()


def test_nodes_of_a_network_lie_beside_those_they_are_linked_to_and_parts_do_not_overlap():
    random, grid = np.random.default_rng(5), np.arange(900).reshape(30, 30)
    torus = np.concatenate([np.stack([grid, np.roll(grid, 1, axis)], axis=-1).reshape(-1, 2) for axis in (0, 1)])
    ring = random.permutation(30)[np.stack([np.arange(30), (np.arange(30) + 1) % 30], axis=1)]
    for n, edges, share in ((30, ring, 0.5), (900, torus, 0.2)):  # by forces, and by eigenvectors
        places = network_places(n, edges)
        lengths = np.hypot(*(places[edges[:, 0]] - places[edges[:, 1]]).T)
        assert lengths.mean() < share * np.hypot(*(places - places[random.permutation(n)]).T).mean()
        assert len(np.unique(places.round(6), axis=0)) == n
    blocks = np.array([[5 * block + i, 5 * block + j] for block in range(6) for i in range(5) for j in range(i)])
    places = network_places(33, blocks)[:30].reshape(6, 5, 2)
    for (low, high), (other_low, other_high) in itertools.combinations(
        zip(places.min(axis=1), places.max(axis=1), strict=True), 2
    ):
        assert (high < other_low).any() or (other_high < low).any()
