"""Reading what the command line prints."""


def values(output):
    """The names and values of a result, printed plain."""
    return dict(line.split("  ", 1)[0:2] for line in output.splitlines() if "  " in line)


def value(output, name):
    return values(output)[name].strip()
