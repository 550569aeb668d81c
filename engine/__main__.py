"""``python -m engine`` is ``quintet``."""

from .cli import main

if __name__ == "__main__":
    main()
