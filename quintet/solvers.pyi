from engine.solvers import *  # noqa: F403
