"""Claims about the passes over a sparse design, whatever number of work-items shares a row."""

import numpy as np
import pytest

CHAINS, BLOCK, STRIP_ROWS, STRIPS, COLUMNS = 4, 32, 128, 2, 6


@pytest.mark.few(1)
@pytest.mark.parametrize("lanes", [1, 2])
def test_margins_of_strips_of_several_tiles_are_numpys(device, lanes):
    rows = STRIP_ROWS * STRIPS
    random = np.random.default_rng(1)
    columns = np.concatenate([random.choice(COLUMNS, 3, replace=False) for _ in range(rows)]).astype(np.uint16)
    values = random.standard_normal(3 * rows).astype(np.float32)
    beta = random.standard_normal((COLUMNS, CHAINS)).astype(np.float32)
    offsets, signs = random.standard_normal((1, CHAINS)), np.where(random.random(rows) < 0.5, -1.0, 1.0)
    dense = np.zeros((rows, COLUMNS))
    dense[np.repeat(np.arange(rows), 3), columns] = values
    expected = signs[:, None] * (dense @ beta + offsets)

    def task(running):
        shuffle = running.capabilities.shuffle and lanes > 1
        constants = {"block": BLOCK, "lanes": lanes, "shuffle": shuffle, "start": "i32", "index": "u16"}
        common = {"chains": CHAINS, "mode": "margins", "family": "logit", "vector": "f32", "implicit": False}
        margins = running.empty(CHAINS * rows, np.float32)
        buffers = {
            "row_start": running.put(np.arange(0, 3 * rows + 1, 3, dtype=np.int32)),
            "columns": running.put(columns),
            "values": running.put(values),
            "coefficients": running.put(beta.ravel()),
            "offsets": running.put(offsets.ravel()),
            "signs": running.put(signs.astype(np.float32)),
            "weighted": running.empty(CHAINS * rows, np.float32),
            "strip_sums": running.empty(2 * CHAINS * STRIPS, np.float64),
            "margins": margins,
        }
        sizes = {"tiles": 1, "q": COLUMNS, "first_row": 0, "row_count": rows, "strips": STRIPS}
        sizes |= {"strip_rows": STRIP_ROWS, "beta_first": 0, "pitch": rows, "betas": CHAINS}
        running.program("gibbs/sparse_rows", **constants, **common).pass_rows(1, BLOCK, **buffers, **sizes)
        found = running.get(margins).reshape(CHAINS, rows).T
        weights = running.get(buffers["weighted"]).reshape(rows, CHAINS)
        sums = running.get(buffers["strip_sums"]).reshape(STRIPS, 2, CHAINS)
        for buffer in buffers.values():
            running.release(buffer)
        return found, weights, sums

    found, weights, sums = device.submit(task).result()
    assert np.allclose(found, expected, rtol=1e-5, atol=1e-5)
    assert np.allclose(weights, signs[:, None] / (1.0 + np.exp(expected)), rtol=1e-5, atol=1e-5)
    parts = weights.astype(np.float64), -np.log1p(np.exp(-expected))
    by_strip = [part.reshape(STRIPS, STRIP_ROWS, CHAINS).sum(axis=1) for part in parts]
    assert np.allclose(sums, np.stack(by_strip, axis=1), rtol=1e-4, atol=1e-4)
