"""What is closed when a file's tests are done."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from searching import close_owners


@pytest.fixture(scope="module", autouse=True)
def _owners() -> Iterator[None]:
    yield
    close_owners()
