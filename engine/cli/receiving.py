"""``quintet receive``: the far side of ``quintet solve --host``; it works the run that standard input describes."""

import click

from ..runs.child.far_side import main
from .options import debug_option


@click.command(hidden=True)
@debug_option
def receive() -> None:
    """Work the run that standard input describes, and send what it finds."""
    main(own=False)
