from importlib.util import find_spec

collect_ignore = [] if find_spec("distributed") else ["test_simulation.py"]
