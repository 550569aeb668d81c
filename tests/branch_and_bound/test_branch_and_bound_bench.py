import click
import pytest

from engine.benchmarks.branch_and_bound.command import bench


def test_the_benchmark_counts_the_published_nodes(device, capsys):
    language, name = device.info.language, device.info.id
    assert bench(["--quick", "--only", "queens 13", "--backend", language, "--devices", f"{name},{name}"]) == 0
    heading, line = capsys.readouterr().out.splitlines()
    assert heading.split() == ["case", "nodes", "seconds", "Mnodes/s", "steals", "verdict"]
    assert line.split()[:3] == ["queens", "13", "2,490,838"]
    assert line.split()[-1] == "right"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--quick", "--whole"], "two sizes"),
        (["--scaling", "--devices", "opencl:0"], "at least two"),
        (["--backend", "metal"], "'metal' is not one of"),
        (["--devices", "cuda:0", "cuda:1"], "unexpected extra argument"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(words, message):
    with pytest.raises(click.UsageError, match=message):
        bench(words)
