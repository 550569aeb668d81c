"""One cluster of worker processes on the OpenCL CPU device, shared by the tests."""

import os

import pytest

import engine
from tests.support.needs import opencl_device, package
from tests.support.patience import PATIENCE

os.environ.setdefault("DASK_DISTRIBUTED__WORKER__MULTIPROCESSING_METHOD", "forkserver")  # workers start sooner
package("distributed")


@pytest.fixture(scope="session", autouse=True)
def _patience():
    """Workers may take minutes to start, and to answer, on a busy machine."""
    from engine.execution.dask import connection

    with pytest.MonkeyPatch.context() as patch:
        for name in ("_CONNECT_SECONDS", "_ANSWER_SECONDS", "_START_SECONDS"):
            patch.setattr(connection, name, 5 * PATIENCE)
        yield


@pytest.fixture(scope="session")
def cpu():
    """The id of the OpenCL CPU device."""
    return opencl_device("cpu").id


@pytest.fixture(scope="module")
def clustered(cpu):
    """A cluster of two worker processes, encrypted; ``clustered`` is the engine."""
    with engine.Engine("opencl", [cpu], cluster="local:2") as owner:
        yield owner


@pytest.fixture(scope="session")
def alone(cpu):
    """The same device in this process."""
    with engine.Engine("opencl", [cpu]) as owner:
        yield owner
