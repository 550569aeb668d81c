"""Memory: what a run takes on a device, checked before any is opened."""

from ....devices import DeviceInfo
from ....devices.info import bytes_text
from ....errors import OptionError, OutOfDeviceMemory
from ..design.entries import SEGMENT, entry_bytes
from ..design.layout import SHARDS, Layout, share_of_chains
from ..design.matrix import Design
from ..options import REFRESH, Settings
from .programs import MOST_LOCAL, TWICE


def required_bytes(layout: Layout, settings: Settings, storage: str, devices: int, with_rows: bool) -> int:
    """Device memory of a run on one of so many devices; of the lines of ``hmc`` only the margins are counted."""
    rows, columns, stride, strips = layout.pitch, layout.columns, layout.stride, layout.strips
    chains, width = settings.chains, layout.width
    share = -(-rows // devices)
    if settings.options.kernel == "cg":
        recorded = 2 * REFRESH * chains * (columns * (2 if settings.options.keep_scales else 1) + 8)
        needed = 8 * recorded + 8 * chains * (10 * columns + 17 * width) + 4 * chains * (9 * share + 2 * rows)
        if storage != "sparse":
            share_of_strips = -(-strips // devices)
            needed += (8 * chains + 4) * share_of_strips * width  # sums of strips, of all chains and of a score
            needed += 8 * min(4, chains) * share  # weights of rows that are read twice
            needed += share * stride * (4 if storage == "float32" else 2) if with_rows else 0
        return needed
    owned = share_of_chains(columns, chains, 0, devices)[1]  # the first device has the most
    item = 4 if storage == "float32" else 2
    matrices = 8 * columns * columns * (owned + 3)
    if settings.wide:
        matrices = 8 * rows * rows * (chains + 1)
    if settings.local:
        matrices += 8 * MOST_LOCAL * (2 * rows + MOST_LOCAL * (chains + 1))
    if settings.latent:
        matrices += 8 * rows * rows * (3 * chains + 1)
    sums = 64 * chains * width
    sums += 4 * chains * (share + columns if storage == "sparse" else (-(-strips // devices) + 1) * width)
    vectors = 8 * rows * chains + 8 * share if settings.options.kernel == "hmc" else 0
    vectors += 8 * min(4, chains) * share if storage != "sparse" and columns * min(4, chains) >= TWICE else 0
    widened = 8 * min(1 << 24, share * stride)
    return (share * stride * item if with_rows else 0) + matrices + sums + vectors + widened


def validate_memory(design: Design, settings: Settings, devices: list[DeviceInfo]) -> None:
    """Check that a run fits so many devices."""
    if len(devices) > SHARDS:
        raise OptionError(f"the Gibbs sampler uses up to {SHARDS} devices; got {len(devices)}")
    layout = design.layout
    share = 1 if settings.single_device else len(devices)
    sparse, linear = design.storage == "sparse", design.problem.family in ("normal", "student")
    with_rows = not sparse and (settings.options.streaming == "never" or settings.single_device)
    needed = required_bytes(layout, settings, design.storage, share, with_rows)
    if settings.wide and (linear or settings.local):
        needed += 2 * 8 * layout.rows**2 * settings.chains
    if sparse:
        entries = -(-design.entries.total // share)
        needed += entry_bytes(-(-layout.rows // share), layout.columns, entries, design.entries.one_value)
        pieces = min(entries, SHARDS // share * layout.columns) + entries // SEGMENT
        needed += 8 * settings.chains * pieces * (3 if settings.options.kernel == "cg" else 1)
    largest = 8 * layout.columns**2 if settings.options.kernel != "cg" else 0
    if settings.wide:
        largest = 0
    if settings.single_device:
        largest = max(largest, 8 * layout.rows**2 * settings.chains, 4 * layout.pitch * layout.stride)
    advice = "use fewer chains, storage = float16 or more devices"
    if settings.options.kernel == "cg":
        advice = f"use fewer chains{'' if sparse else ', storage = float16'} or more devices"
    elif design.problem.family in ("probit", "logit"):
        advice += "; kernel = cg needs no matrix of the columns"
    of_rows = "px" if design.problem.family == "probit" else "gibbs" if linear else None
    if of_rows is not None and layout.columns > layout.rows and not settings.wide and settings.options.kernel != "cg":
        advice += f"; kernel = {of_rows} needs matrices of {layout.rows} x {layout.rows} only"
    for info in devices[:1] if settings.single_device else devices:
        if needed > info.memory or largest > info.max_allocation:
            fault = f"has {bytes_text(info.memory)}"
            if needed <= info.memory:
                needed, fault = largest, f"allocates at most {bytes_text(info.max_allocation)} at once"
            raise OutOfDeviceMemory(
                f"the sampler of {layout.columns} columns and {settings.chains} chains needs {bytes_text(needed)} on "
                f"{info.id}, which {fault}; {advice}"
            )
