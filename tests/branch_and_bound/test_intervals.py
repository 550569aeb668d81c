"""Claims about work units: intervals of the factorial number system lose nothing and overlap nowhere."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import OptionError
from engine.references.branch_and_bound import search
from engine.solvers.branch_and_bound.intervals import Units, cut, digits_of, positions
from engine.solvers.branch_and_bound.problems.queens import Queens
from engine.solvers.branch_and_bound.search.stealing import VictimSelection, radices
from tests.support.engines import engine_of
from tests.support.searching import aligned, as_gpu, counts, explore, number_of


@given(st.integers(1, 64), st.data())
def test_digits_and_numbers_are_inverses(n, data):
    number = data.draw(st.integers(0, math.factorial(n)))
    digits = digits_of(number, n)
    assert number_of(digits) == number
    assert all(digit < n - level for level, digit in enumerate(digits)) or number == math.factorial(n)


def test_a_number_out_of_range_is_refused():
    with pytest.raises(ValueError, match="a leaf number must be 0 to 3!; got 7"):
        digits_of(7, 3)


@given(st.integers(1, 20), st.data())
def test_any_interval_is_made_up_of_aligned_units_in_order(n, data):
    ends = sorted(data.draw(st.lists(st.integers(0, math.factorial(n)), min_size=2, max_size=2)))
    units = aligned(ends[0], ends[1], n)
    numbers = [
        (number_of(unit.begin[0]), number_of(unit.end[0])) for unit in (units[i : i + 1] for i in range(len(units)))
    ]
    assert units.length() == ends[1] - ends[0]
    for (_, stop), (start, _) in pairwise(numbers):
        assert stop == start
    for begin, end in zip(units.begin, units.end, strict=True):
        parted = int(np.flatnonzero(begin != end)[0])
        assert begin[parted] < end[parted]
        assert not end[parted + 1 :].any()


@pytest.mark.parametrize(("n", "depth"), [(1, 0), (1, 1), (4, 0), (4, 1), (5, 2), (6, 3)])
def test_a_cut_tree_is_the_whole_tree(n, depth):
    units = cut(n, depth)
    starts = [number_of(begin) for begin in units.begin]
    stops = [number_of(end) for end in units.end]
    assert len(units) == math.perm(n, depth)
    assert [0, *stops] == [*starts, math.factorial(n)]


def test_positions_are_the_ranks_of_the_chosen_items_among_the_open():
    # Items 2, then 0, then 3 of five: ranks 2, 0, and 3 among {1, 3, 4} is rank 1.
    rows = np.array([[0b10100], [0b00001], [0b11000], [0], [0]], np.uint32)[:, :, None]
    assert positions(rows, np.array([3], np.int32)).tolist() == [[2, 0, 1, 0, 0]]
    assert positions(rows, np.array([1], np.int32)).tolist() == [[2, 0, 0, 0, 0]]


@pytest.mark.few(2)
@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_a_tree_cut_anywhere_has_the_same_nodes(device, depth):
    tree = Queens(9).tree("auto", "auto")
    reference = search(tree)
    for capabilities in (None, as_gpu(device)):
        found = explore(device, tree, units=cut(9, depth), capabilities=capabilities)
        assert counts(found) == counts(reference)


@pytest.mark.parametrize("places", [[100], [1, 2, 3], [5039, 5040, 20000], [7, 4000, 4001, 39999]])
def test_intervals_that_begin_anywhere_add_up_to_the_tree(device, places):
    tree = Queens(8).tree("auto", "auto")
    bounds = [0, *places, math.factorial(8)]
    parts = [explore(device, tree, units=aligned(begin, end, 8)) for begin, end in pairwise(bounds)]
    assert [part.explored for part in parts] == [end - begin for begin, end in pairwise(bounds)]
    assert sum(part.solutions for part in parts) == 92
    assert sum(part.nodes for part in parts) == search(tree).nodes


def test_no_units_are_of_no_length():
    assert Units.none(7).length() == 0
    assert Units.joined([Units.none(7), cut(7, 1)]).length() == math.factorial(7)


@given(st.integers(1, 200_000))
def test_hypercubes_have_as_many_corners_as_there_are_ivms(ivms):
    assert math.prod(radices(ivms)) == ivms


@pytest.mark.parametrize("strategy", ["ring", "search", "large", "adapt", "hypercube", "torus"])
@pytest.mark.parametrize("ivms", [1, 2, 7, 60, 512])
@pytest.mark.parametrize("each", [False, True])
def test_rounds_stay_on_their_rings(strategy, ivms, each):
    selection = VictimSelection(strategy, ivms, each=each)
    for step in [step for _ in range(12) for step in selection.phase(ivms // 2)]:
        assert step.first >= 0
        assert 1 <= step.places <= step.radix + 1
        assert step.stride * step.radix <= ivms
        assert step.places == 1 or not each


def test_the_window_of_adapt_moves_and_grows_as_in_algorithm_6():
    selection = VictimSelection("adapt", 64)
    windows = [
        (step.first, step.places - 1) for idle in (64, 64, 64, 64, 64, 64, 64, 6, 6) for step in selection.phase(idle)
    ]
    # B moves by the S before; S doubles up to T while more than a tenth are idle, and else is halved.
    assert windows == [(1, 2), (3, 4), (7, 8), (15, 16), (31, 32), (63, 64), (63, 32), (31, 16), (47, 8)]


def test_a_window_that_does_not_tile_the_ring_is_refused(device):
    for window, ivms in ((7, 128), (96, 128)):
        with pytest.raises(OptionError, match=f"window must divide the number of IVMs, {ivms}; got {window}"):
            engine_of(device).solve(Queens(6), strategy="search", window=window, ivms=ivms)
    with pytest.raises(OptionError, match="window_begin must be less than the number of IVMs, 128; got 128"):
        engine_of(device).solve(Queens(6), strategy="adapt", window_begin=128, ivms=128)


def test_the_papers_hypercube_is_fours_and_an_eight():
    assert radices(1 << 14) == [4] * 7
    assert radices(1 << 15) == [4] * 6 + [8]
