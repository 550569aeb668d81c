import subprocess
import sys

PROGRAM = """
import sys
import engine
from engine.devices.opencl.device import OpenCLDevice

close = OpenCLDevice.close

def reported(device):
    close(device)
    print("closed", device.info.id, flush=True)

OpenCLDevice.close = reported
left_open = engine.Engine(devices=sys.argv[1:])
print(left_open.solve(engine.Queens(6)).objective, flush=True)
"""


def test_a_program_that_closes_nothing_ends_well(device):
    devices = [device.info.id] * 2
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *devices], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    words = done.stdout.split("\n")
    assert words[0] == "4"
    if device.info.language == "opencl":
        assert words[1:3] == [f"closed {device.info.id}"] * 2
