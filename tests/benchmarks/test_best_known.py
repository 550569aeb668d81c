"""The best known values of public instances have sources, and are no worse than what is published."""

import re

from engine.benchmarks.boa.best_known import best_known, best_known_values


def test_every_value_says_where_and_when_it_was_published_and_whether_it_is_proved() -> None:
    for name, known in best_known_values().items():
        assert known.source, name
        assert re.fullmatch(r"(19|20)\d\d(-\d\d){0,2}", known.date), name
        assert known.status in ("proved", "heuristic"), name


def test_the_whole_g_set_is_there_with_the_cuts_that_are_published() -> None:
    numbers = [*range(1, 68), 70, 72, 77, 81]
    assert [number for number in numbers if f"G{number}" not in best_known_values()] == []
    published = {"G25": 13349, "G55": 10299, "G63": 27047, "G70": 9595, "G72": 7008, "G77": 9940, "G81": 14060}
    assert {name: best_known(f"{name}.txt") for name in published} == published


def test_a_value_is_found_by_the_name_of_a_file_in_any_form() -> None:
    assert best_known("maxcut/G22.txt.bz2") == best_known("G22.mc") == best_known("G22") == 13359
    assert best_known("qubo/gka1a.sparse") == -3414
    assert best_known("mine.txt") is None
