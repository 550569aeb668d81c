"""``python -m quintet`` is ``quintet``."""

from engine.cli import main

if __name__ == "__main__":
    main()
