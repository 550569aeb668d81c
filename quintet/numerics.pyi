from engine.numerics import *  # noqa: F403
