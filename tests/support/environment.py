import os
from pathlib import Path

ROOT = Path(__file__).parents[2]


def with_root(*first):
    """This environment, with these folders and this tree in ``PYTHONPATH`` before what is there already."""
    inherited = os.environ.get("PYTHONPATH")
    paths = [*map(str, first), str(ROOT), *([inherited] if inherited else [])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
