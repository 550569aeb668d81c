"""The pictures a run tells while it goes on: its network, and individuals from the best to the worst."""

from __future__ import annotations

import numpy as np

import engine
from engine.devices import Member
from engine.events import Trace


def test_the_last_pictures_show_the_final_network_and_the_best_individual(device: Member) -> None:
    traces: dict[str, Trace] = {}

    def keep(event: object) -> None:
        if isinstance(event, Trace):
            traces[event.name] = event

    result = engine.solve(
        engine.BOA("trap-5", 45),
        devices=[device.info.id],
        backend=device.info.language,
        population=600,
        max_generations=5,
        on_event=keep,
    )
    edges = np.array(traces["network"].values, np.int64).reshape(-1, 2)
    assert edges.tolist() == result.arrays["edges"].tolist()
    genes, *words = (int(value) for value in traces["individuals"].values)
    assert genes == 45
    rows = np.array(words, "<u4").reshape(-1, 2)
    bits = np.unpackbits(rows.view(np.uint8), axis=1, bitorder="little")[:, :45]
    fitness = engine.BOA("trap-5", 45).fitness
    keys = fitness.keys(bits)
    assert keys[0] == keys.max() <= fitness.key(result.objective)
    assert (np.diff(keys) <= 0).all()
