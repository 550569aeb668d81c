"""``python -m quintet`` is ``quintet``."""

from .cli import main

if __name__ == "__main__":
    main()
