"""Plots: what they draw, say and write; schedules and boards checked against their rules."""

import csv
import itertools
import math
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QImage
from PySide6.QtWidgets import QTabWidget

import engine
from gui.app.meaning import Meaning
from gui.app.theme import DARK, DASHES, LIGHT
from gui.pictures.board import Board, queens_placement
from gui.pictures.gantt import Gantt, schedule
from gui.pictures.network import NetworkView, network_places
from gui.pictures.tour import Tour, places_from_costs
from gui.plot.axes import LogAxis
from gui.plot.charts import BandPlot, Bars, Pixels
from gui.plot.export import write_plots
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


def test_numbers_of_rows_and_columns_are_in_the_middle_of_their_cells(qtbot):
    pixels = Pixels("Pixels", theme=LIGHT, across="gene", down="snapshot")
    shown(qtbot, pixels)
    pixels.show_matrix(np.eye(2, 3))
    pixels.redraw()
    assert pixels.plot.getViewBox().viewRange() == [[-0.5, 2.5], [-0.5, 1.5]]
    assert pixels.image.mapRectToParent(pixels.image.boundingRect()) == QRectF(-0.5, -0.5, 3, 2)


def test_a_unit_that_the_title_has_is_not_said_twice(qtbot):
    for title, unit, remark in (("Best value", "value", ""), ("Memory in use", "bytes", "bytes")):
        plot = LivePlot(title, unit, theme=LIGHT)
        qtbot.addWidget(plot)
        assert (plot._heading.remark, plot.unit) == (remark, unit)


def test_files_of_titles_that_differ_in_signs_alone_have_names_of_their_own(qtbot, tmp_path):
    plots = [wave(LivePlot(title, theme=LIGHT), 3) for title in ("char_freq_!", "char_freq_$", "R-hat")]
    for plot in plots:
        qtbot.addWidget(plot)
    names = [path.name for path in write_plots(plots, "csv", tmp_path)]
    assert names == ["01-char_freq_-exclamation-mark.csv", "02-char_freq_-dollar-sign.csv", "03-r-hat.csv"]


def test_one_bar_is_not_repeated_as_the_bar_of_all_unless_that_is_more(qtbot):
    bars = Bars("Bars", theme=LIGHT, whole="all devices")
    qtbot.addWidget(bars)
    bars.put("opencl:0", 0.4, LIGHT.colour(0))
    assert [name for name, _ in bars._rows()] == ["opencl:0"]
    bars.put_whole(0.4)
    assert [name for name, _ in bars._rows()] == ["opencl:0"]
    bars.put_whole(0.4 + 1e-9)  # rounding
    assert [name for name, _ in bars._rows()] == ["opencl:0"]
    bars.put_whole(0.7)
    assert [name for name, _ in bars._rows()] == ["all devices", "opencl:0"]
    bars.put("opencl:1", 0.3, LIGHT.colour(1))
    assert [name for name, _ in bars._rows()] == ["all devices", "opencl:0", "opencl:1"]


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


def test_a_curve_begins_at_the_axis_as_svg_does_not_clip(qtbot):
    plot = LivePlot("Speed", theme=LIGHT)
    for step in (False, True):
        for time, value in ((0.0, 2.0), (8.0, 10.0), (9.0, 4.0)):
            plot.series(f"step {step}", step=step).append(time, value)
    plot.set_origin(4.0)
    shown(qtbot, plot)
    line, step = ([part.tolist() for part in curve.item.getData()] for curve in plot.curves)
    assert line == [[4.0, 8.0, 9.0], [6.0, 10.0, 4.0]]
    assert step == [[4.0, 8.0, 8.0, 9.0, 9.0, 9.0], [2.0, 2.0, 10.0, 10.0, 4.0, 4.0]]


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


def test_a_mark_is_as_wide_in_print_as_the_axes(qtbot):
    plot = wave(LivePlot("Speed", theme=LIGHT))
    qtbot.addWidget(plot)
    plot.mark(0.5)
    for scale in (1, 3):
        image = plot.to_image(scale)
        shades = np.frombuffer(image.constBits(), np.uint32).reshape(image.height(), -1)
        assert (shades == QColor(LIGHT.warning).rgb()).sum(axis=0).max() == scale


def test_the_table_has_every_point_in_full(qtbot):
    plot = LivePlot("Speed", theme=LIGHT)
    qtbot.addWidget(plot)
    plot.series("a").append(0.0, 1 / 3)
    plot.series("b").append(0.5, 2.0)
    plot.series("a").append(1.0, 4.0)
    headers, rows = plot.table()
    assert headers == ["seconds", "a", "b"]
    assert [tuple(row) for row in rows] == [(0.0, 1 / 3, None), (0.5, None, 2.0), (1.0, 4.0, None)]


def test_the_data_button_turns_to_the_table_and_back(qtbot):
    plot = shown(qtbot, wave(LivePlot("Speed", theme=LIGHT)))
    plot.data_button.click()
    table = plot._table
    assert table is not None
    assert table.isVisible()
    assert table.model().rowCount() == 200
    plot.series("a").append(99.0, 1.0)
    plot.refresh()
    assert table.model().rowCount() == 201
    plot.to_image()
    assert table.isVisible()
    plot.data_button.click()
    assert plot.view.isVisible()


def test_lines_differ_by_dash_as_well_as_by_colour():
    for theme in (LIGHT, DARK):
        looks = [(theme.colour(k), theme.dash(k)) for k in range(40)]
        assert len(set(looks)) == 40
        assert all(one[1] != other[1] for one, other in itertools.pairwise(looks))
    assert len(set(DASHES)) == 5


def test_a_changed_theme_changes_ground_and_lines(qtbot):
    plot = shown(qtbot, wave(LivePlot("Speed", theme=LIGHT)))
    plot.set_theme(DARK)
    assert plot.to_image(1.0).pixelColor(2, 2) == QColor(DARK.base)
    assert [curve.colour for curve in plot.curves] == [DARK.colour(0), DARK.colour(1)]


def test_ranges_grow_in_steps_and_hold_still_between(qtbot):
    plot = LivePlot("Speed", theme=LIGHT)
    shown(qtbot, plot)
    seen = set()
    for k in range(600):
        plot.series("a").append(k / 10, 100 + k % 7)
        plot.refresh()
        (begin, end), (low, high) = plot.plot.getViewBox().viewRange()
        assert begin <= 0 <= k / 10 <= end
        assert low <= 100 <= 100 + k % 7 <= high
        seen.add((begin, end, low, high))
    assert len(seen) < 45


def test_a_zoomed_plot_stays_until_all_is_asked_for(qtbot):
    plot = LivePlot("Speed", theme=LIGHT)
    shown(qtbot, wave(plot))
    box = plot.plot.getViewBox()
    box.setRange(xRange=(1, 2), padding=0)
    box.sigRangeChangedManually.emit((True, True))
    plot.series("a").append(500.0, 1.0)
    plot.refresh()
    assert box.viewRange()[0] == pytest.approx([1, 2])
    plot.fit()
    assert box.viewRange()[0][1] >= 500


def test_a_hidden_line_is_not_drawn_and_does_not_set_the_range(qtbot):
    plot = LivePlot("Speed", theme=LIGHT)
    shown(qtbot, plot)
    plot.series("small").append(1, 1.0)
    plot.series("large").append(1, 1000.0)
    plot.refresh()
    plot.entries[1].click()
    assert plot.plot.getViewBox().viewRange()[1][1] < 10
    assert not plot.curves[1].item.isVisible()


def test_a_logarithmic_axis_has_an_end_for_zero_and_leaves_out_negative_numbers(qtbot):
    plot = LivePlot("Gap", log=True, theme=LIGHT)
    shown(qtbot, plot)
    for k, value in enumerate((1e3, 0.0, -5.0, 1e-4)):
        plot.series("gap").append(k, value)
    plot.refresh()
    x, y = plot.curves[0].item.getData()
    assert x.tolist() == [0.0, 1.0, 3.0]
    assert y.tolist() == [3.0, -5.0, -4.0]
    texts = plot.plot.getAxis("left").tickStrings([-5.0, -4.5, -4.0, 0.0], 1.0, 1.0)
    assert texts == ["0", "", "10⁻⁴", "1"]


def test_stacked_areas_add_up(qtbot):
    plot = StackedPlot("IVMs", theme=LIGHT)
    shown(qtbot, plot)
    for k in range(20):
        plot.series("a").append(k, 3.0)
        plot.series("b").append(k, 4.0)
    plot.refresh()
    assert plot.curves[1].item.getData()[1].max() == 7.0
    assert plot.curves[1].item.getData()[1].min() == 3.0


def test_a_listing_stays_sorted_when_its_rows_are_replaced(qtbot):
    listing = Listing("Processes", theme=LIGHT)
    qtbot.addWidget(listing)
    rows = [("b", 2.0), ("a", math.nan), ("d", None), ("c", 10.0), ("e", "none")]

    def names():
        model = listing._table.model()
        return [str(model.index(row, 0).data()) for row in range(model.rowCount())]

    listing.put(["name", "GB"], rows)
    assert names() == ["b", "a", "d", "c", "e"]  # as they were given
    listing._table.sortByColumn(1, Qt.SortOrder.DescendingOrder)
    assert names()[:3] == ["e", "c", "b"]
    listing.put(["name", "GB"], [*rows, ("f", 5.0)])
    assert names()[:4] == ["e", "c", "f", "b"]
    listing.filter.setText("5")
    assert names() == ["f"]
    listing.filter.setText("none E")
    assert names() == ["e"]
    listing.filter.clear()
    listing.set_theme(DARK)
    listing.show()
    listing.resize(500, 300)
    listing.refresh()
    assert names()[:4] == ["e", "c", "f", "b"]


# --- pictures of solutions ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, *range(4, 40)])
def test_queens_of_the_picture_do_not_attack_each_other(n):
    columns = queens_placement(n)
    assert columns is not None
    assert sorted(columns) == list(range(n))
    assert len({row + column for row, column in enumerate(columns)}) == n
    assert len({row - column for row, column in enumerate(columns)}) == n
    assert queens_placement(2) is queens_placement(3) is None


def test_places_have_the_distances_they_are_made_from():
    points = np.random.default_rng(2).random((9, 2)) * 100
    distances = np.linalg.norm(points[:, None] - points[None], axis=2)
    places = places_from_costs(distances)
    assert np.linalg.norm(places[:, None] - places[None], axis=2) == pytest.approx(distances, abs=1e-6)


def test_no_city_of_a_tour_hides_another(qtbot):
    costs = np.random.default_rng(3).integers(1, 99, (40, 40))
    costs[5], costs[:, 5] = costs[6], costs[:, 6]
    tour = Tour(theme=LIGHT)
    qtbot.addWidget(tour)
    tour.show_tour(costs, np.arange(40))
    apart = np.linalg.norm(tour._places[:, None] - tour._places[None], axis=2)
    assert apart[~np.eye(40, dtype=bool)].min() > 0.05


def test_long_numbers_have_room_at_an_axis(qtbot):
    plot = LivePlot("Value", theme=LIGHT, from_zero=False)
    usual = shown(qtbot, wave(LivePlot("Speed", theme=LIGHT)))
    for time, value in ((0.0, 17_119_014.0), (1.0, 17_119_654.0)):
        plot.series("value").append(time, value)
    shown(qtbot, plot)
    left = plot.plot.getAxis("left")
    texts = left.tickStrings([17_119_200.0], 1.0, 200.0)
    assert texts == ["17.1192M"]
    assert left.maximumWidth() > QFontMetricsF(left.style["tickFont"]).horizontalAdvance(texts[0]) + 5
    assert left.maximumWidth() > usual.plot.getAxis("left").maximumWidth()


def test_parts_of_a_network_do_not_overlap():
    edges = np.array([[5 * block + i, 5 * block + j] for block in range(6) for i in range(5) for j in range(i)])
    places = network_places(33, edges)
    boxes = [(places[5 * k : 5 * k + 5].min(axis=0), places[5 * k : 5 * k + 5].max(axis=0)) for k in range(6)]
    for (low, high), (other_low, other_high) in itertools.combinations(boxes, 2):
        assert (high < other_low).any() or (other_high < low).any()
    assert len(np.unique(places.round(6), axis=0)) == 33


def test_linked_nodes_are_nearer_than_others():
    ring = np.stack([np.arange(30), (np.arange(30) + 1) % 30], axis=1)
    random = np.random.default_rng(5).permutation(30)  # so that neighbours do not begin beside each other
    places = network_places(30, random[ring])
    apart = np.hypot(*(places[:, None] - places[None]).transpose(2, 0, 1))
    links = apart[random[ring][:, 0], random[ring][:, 1]]
    assert links.mean() < 0.5 * apart[np.triu_indices(30, 1)].mean()
    assert len(np.unique(places.round(6), axis=0)) == 30


def test_a_logarithmic_axis_has_one_kind_of_large_numbers(qtbot):
    axis = LogAxis("left")
    assert axis.tickStrings([-6.0, -2.0, 0.0, 4.0, 6.0], 1.0, 2.0) == ["10⁻⁶", "10⁻²", "1", "10⁴", "10⁶"]
    assert axis.tickStrings([2.0, 3.0, 4.0, 6.0, 14.0], 1.0, 2.0) == ["100", "1k", "10k", "1M", "100T"]
    assert axis.tickStrings([2.0, 3.0, 3.301], 1.0, 0.1) == ["100", "1000", "2000"]
    assert axis.tickStrings([2.0, 4.0, 6.0, 16.0], 1.0, 2.0) == ["10²", "10⁴", "10⁶", "10¹⁶"]
