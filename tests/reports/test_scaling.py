"""``quintet bench SOLVER --scaling``, its pictures, and the model of several devices."""

from xml.etree import ElementTree

import pytest

from engine.devices import DevicePool
from engine.devices.monitor.timeline import Command, DeviceTimeline, HostSpan, Timeline
from engine.errors import OptionError
from engine.reports.scaling import Outcome, Request, ScalingCase, bench_scaling
from engine.reports.scaling_model import Exchange, Profile, predicted_seconds, profile_of
from engine.reports.timeline import covered, picture, shares_of


def _timeline():
    kernels = [Command("kernel", "work", 0, 1.0, 2.0), Command("kernel", "again", 1, 1.5, 2.5)]
    others = [Command("wait", "wait", 0, 2.5, 3.0), Command("peer", "peer", 0, 3.0, 3.5, 8)]
    host = [HostSpan("task", 0.5, 3.5), HostSpan("device", 1.0, 2.0), HostSpan("exchange", 2.5, 3.0)]
    return Timeline([DeviceTimeline("cuda:0", [*kernels, *others], host)])


def test_the_model_divides_what_is_not_repeated():
    profile = profile_of(_timeline().devices[0], (0.0, 4.0), 8.0, {"again"})
    assert profile.divided + profile.repeated + profile.idle == pytest.approx(8.0)
    assert profile.divided == pytest.approx(profile.repeated * 1.0 / 1.5)  # the copy is repeated too
    few, exchange = Profile(divided=4.0, repeated=1.0, idle=0.5), Exchange(10, 390e9)
    predicted = [predicted_seconds(few, devices, exchange, 0.1) for devices in (1, 4)]
    assert predicted == pytest.approx([5.5, 2.5 + 1.0 + 1.0])


def test_shares_count_overlapping_commands_once_and_a_picture_names_devices_and_kernels():
    used = shares_of(_timeline().devices[0], (0.0, 4.0))
    assert (used.computing, used.copying, used.waiting) == pytest.approx((1.5 / 4, 0.5 / 4, 2.0 / 4))
    assert covered([(0.0, 2.0), (1.0, 3.0), (5.0, 9.0)], (1.5, 6.0)) == pytest.approx(2.5)
    root = ElementTree.fromstring(picture(_timeline(), "a & b", (0.0, 4.0), detail=0.5))
    words = {element.text for element in root.iter() if element.text and element.text.strip()}
    assert {"a & b", "cuda:0", "work", "again", "0.000 s to 4.000 s"} <= words


def test_another_answer_on_more_devices_is_reported(device, capsys):
    def run(devices):
        with DevicePool([device.info] * len(devices)):
            return Outcome(0.0, 1.0 / len(devices), {"nodes": len(devices)})

    assert not bench_scaling(
        "test", [ScalingCase("case", run, run_recorded=None)], None, [device.info.id] * 2, Request()
    )
    assert "other nodes than on one device" in capsys.readouterr().out
    with pytest.raises(OptionError, match="no case has 'cases' in its name: case"):
        bench_scaling("test", [ScalingCase("case", run, run_recorded=None)], None, None, Request(only="cases"))
