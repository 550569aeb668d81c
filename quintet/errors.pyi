from engine.errors import *  # noqa: F403
