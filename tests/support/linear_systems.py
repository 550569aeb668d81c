"""Shards with a theta of the test's choice, for linear systems by themselves."""

from types import SimpleNamespace

import numpy as np


class GivenTheta:
    """Stands for the shards of a linear system, on a device or on none."""

    is_one = False

    def __init__(self, device=None):
        self.theta = np.zeros(0)
        self.dense_forms = 0
        self._device, self._shards = device, []

    def on_first(self, function):
        """Call it with the shard, on the device's thread."""
        assert self._device is not None, "the device is used"

        def there(opened):
            if not self._shards:
                self._shards.append(SimpleNamespace(device=opened, owned=[]))
            return function(self._shards[0])

        return self._device.submit(there).result()

    def get_theta(self):
        """What the test has chosen."""
        return self.theta

    def form_normal(self):
        """Count the calls."""
        self.dense_forms += 1

    def normal(self, p):
        """There is no matrix."""
        raise NotImplementedError

    def form(self, system, theta):
        """Let the system take this theta."""
        self.theta = theta
        system.form()
