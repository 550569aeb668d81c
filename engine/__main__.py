"""``python -m engine`` is ``quintet``."""

from engine.cli import main

if __name__ == "__main__":
    main()
