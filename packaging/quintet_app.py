"""The entry of the bundled app: the window, or a module, a file or code as a Python interpreter takes them.

Quintet starts processes as ``sys.executable -P -m MODULE ...``, ``-P FILE`` and ``-P -c CODE``, and in a bundle that
executable is the app itself.
"""

import multiprocessing
import runpy
import sys


def main() -> None:
    """Run what the arguments say."""
    multiprocessing.freeze_support()
    words = [word for word in sys.argv[1:] if word != "-P"]
    if words[:1] == ["-m"] and len(words) > 1:
        sys.argv[1:] = words[2:]
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    elif words[:1] == ["-c"] and len(words) > 1:
        sys.argv[:] = ["-c", *words[2:]]
        exec(compile(words[1], "<string>", "exec"), {"__name__": "__main__"})  # noqa: S102 - as python -c
    elif len(sys.argv) > 2 and sys.argv[1] == "-P":
        sys.argv[:] = words
        runpy.run_path(words[0], run_name="__main__")
    else:
        sys.argv[1:] = ["gui", *words]
        runpy.run_module("quintet", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
