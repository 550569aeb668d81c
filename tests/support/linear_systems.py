"""Shards with a theta of the test's choice, for linear systems by themselves."""

from types import SimpleNamespace

import numpy as np
import scipy.sparse as sp

from engine.solvers.linprog.forms.standard import ShardData


def shard_data(columns, random=None):
    """All of a system on one shard, without costs and bounds; with ``random`` every second row has a slack."""
    m, n = columns.shape
    rows = np.arange(0, m if random is not None else 0, 2)
    return ShardData(
        A=sp.csr_array(columns),
        c=np.zeros(n + rows.size),
        upper=np.full(n + rows.size, np.inf),
        free=np.zeros(n + rows.size, bool),
        slack_rows=rows,
        slack_signs=rows.astype(float) if random is None else random.choice([-1.0, 1.0], rows.size),
        m=m,
    )


class GivenTheta:
    """Stands for the shards of a linear system, on a device or on none."""

    is_one = False

    def __init__(self, device=None):
        self.theta = np.zeros(0)
        self._device, self._shards = device, []

    def on_first(self, function):
        assert self._device is not None, "the device is used"

        def there(opened):
            if not self._shards:
                self._shards.append(SimpleNamespace(device=opened, owned=[]))
            return function(self._shards[0])

        return self._device.submit(there).result()

    def get_theta(self):
        return self.theta

    def form(self, system, theta):
        self.theta = theta
        system.form()
