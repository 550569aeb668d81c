"""Linear programs on several devices, for ``quintet bench linprog --scaling``.

A batch is divided. One program is not: several devices only give it their memory.
"""

from collections.abc import Iterator

from ...generators.linprog import GeneratorOptions, generate
from ...reports.scaling import ScalingCase, mapping_case


def scaling_cases(quick: bool) -> Iterator[ScalingCase]:
    """A batch of small dense programs."""
    count = 16 if quick else 4000
    yield mapping_case(
        f"batch of {count}",
        lambda: [generate(GeneratorOptions(m=20, n=40, seed=seed)) for seed in range(count)],
        {"method": "mpc"},
    )
