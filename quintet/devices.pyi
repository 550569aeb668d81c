from engine.devices import *  # noqa: F403
