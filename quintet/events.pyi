from engine.events import *  # noqa: F403
