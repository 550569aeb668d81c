from engine.benchmarks.branch_and_bound.command import bench


def test_the_benchmark_counts_the_published_nodes(device, capsys):
    language, name = device.info.language, device.info.id
    assert bench(["--quick", "--only", "queens 13", "--backend", language, "--devices", f"{name},{name}"]) == 0
    heading, line = capsys.readouterr().out.splitlines()
    assert heading.split() == ["case", "nodes", "seconds", "Mnodes/s", "steals", "verdict"]
    assert line.split()[:3] == ["queens", "13", "2,490,838"]
    assert line.split()[-1] == "right"
