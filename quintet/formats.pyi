from engine.formats import *  # noqa: F403
