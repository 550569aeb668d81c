"""Kernels on disk: damaged ones are found and compiled again, and a cache that cannot be written is replaced."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from engine.devices.kernels import cache as kernel_cache
from engine.devices.kernels import rendered as _rendered
from engine.devices.kernels import templates
from tests.support.needs import POSIX

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import os, signal, sys
import numpy as np
from engine.devices import DevicePool, available
from engine.numerics import philox
found = [info for info in available()[0] if info.platform.startswith("Portable Computing Language")]
if not found:
    sys.exit("PoCL is not installed")
def drawn(device):
    words = device.empty(4, np.uint32)
    philox.fill(device, words, 0, 0, 0, output="u32")
    return device.get(words)
if "beside" in sys.argv:  # all that is asked has been done, or failed, before the kernel is launched
    from engine.devices.kernels import cache
    from engine.devices.opencl.beside import Beside
    asked, cache._PATIENCE, sys.executable = Beside.ask, 600.0, sys.argv[-1]
    Beside.ask = lambda beside, *words: (asked(beside, *words), beside.finish())
with DevicePool(found[:1]) as pool:
    print(pool.members[0].submit(drawn).result()[0], flush=True)
    if "optimize" in sys.argv:  # a kernel that has run is replaced, alone and in a recording
        from engine.devices.opencl.beside import finish
        def again(device):
            words = device.empty(4, np.uint32)
            kernel = next(iter(next(iter(device._owned.programs.values()))._kernels.values()))
            print(kernel.handle[3])
            with device.record() as recording:
                philox.fill(device, words, 0, 0, 0, output="u32")
            finish()
            for draw in (recording.play, lambda: philox.fill(device, words, 0, 0, 0, output="u32"), recording.play):
                device.zero(words)
                draw()
                print(device.get(words)[0])
            print(kernel.handle[3], device._shared.beside.works)
        pool.members[0].submit(again).result()
if "kill" in sys.argv:
    os.kill(os.getpid(), signal.SIGKILL)
"""
DRAWN = f"{0x6627E8D5}\n"  # of Random123's known answers


def started(cache, *words):
    kept = {name: value for name, value in os.environ.items() if name != "POCL_CACHE_DIR"}
    variables = kept | {"PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(cache)}
    variables["POCL_EXTRA_BUILD_FLAGS"] = "" if "optimize" in words else "-cl-opt-disable"  # no process beside
    words = [sys.executable, "-c", PROGRAM, *words]
    return subprocess.run(words, capture_output=True, text=True, env=variables, timeout=300)


def compiled(cache):
    return sorted(cache.rglob("pocl/??/*/*/*/*.so"))


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    cache = tmp_path_factory.mktemp("cache")
    done = started(cache)
    assert (done.returncode, done.stdout, done.stderr) == (0, DRAWN, "")
    assert compiled(cache)
    return cache


@pytest.fixture
def cache(filled, tmp_path):
    subprocess.run(["cp", "-a", str(filled), str(tmp_path / "cache")], check=True)
    return tmp_path / "cache"


@pytest.mark.full
def test_files_beside_a_list_that_a_power_cut_emptied_are_not_trusted(cache):
    for path in (*compiled(cache), *cache.rglob("lists/*.json")):
        os.truncate(path, 0)
    for _ in range(2):
        done = started(cache)
        assert (done.returncode, done.stdout, done.stderr) == (0, DRAWN, "")


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["*.so", "program.bc"])
def test_files_that_were_cut_are_compiled_again(cache, name):
    for path in cache.rglob(name):
        os.truncate(path, path.stat().st_size // 2)
    done = started(cache)
    assert (done.returncode, done.stdout) == (0, DRAWN)
    assert re.search(r"StorageWarning: the files of \d+ compiled programs in .* were damaged", done.stderr)
    again = started(cache)
    assert (again.returncode, again.stdout, again.stderr) == (0, DRAWN, "")


@pytest.mark.full
def test_kernels_of_a_process_killed_at_once_are_not_trusted(tmp_path, filled):
    assert started(tmp_path, "kill").returncode == -signal.SIGKILL
    for path in compiled(tmp_path):
        path.write_bytes(os.urandom(path.stat().st_size))
    done = started(tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, DRAWN, "")


def test_kernels_are_optimised_by_a_process_beside_the_one_that_runs_them(tmp_path):
    done = started(tmp_path, "optimize")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{DRAWN}True\n{3 * DRAWN}False True\n", "")
    files = compiled(tmp_path)
    assert len(files) == 2  # not optimised, and optimised
    done = started(tmp_path, "optimize")  # finds them
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{DRAWN}False\n{3 * DRAWN}False True\n", "")
    assert compiled(tmp_path) == files


@pytest.mark.few(1)
@POSIX
@pytest.mark.parametrize("program", ["/nowhere/python", "false", sys.executable])
def test_nobody_waits_for_a_process_beside_that_fails_or_is_early(tmp_path, program):
    done = started(tmp_path, "optimize", "beside", shutil.which(program) or program)
    lines = f"{DRAWN}True\n{3 * DRAWN}False {program == sys.executable}\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, lines, "")


def test_of_those_that_start_together_one_compiles(tmp_path, monkeypatch):
    monkeypatch.setattr(kernel_cache, "folder", lambda: tmp_path)
    compiled = []

    def build(_):
        with kernel_cache.alone("0123"):
            if kernel_cache.kept("0123.cubin") is None:
                compiled.append(time.sleep(0.05))
                kernel_cache.keep("0123.cubin", b"code")
        return kernel_cache.kept("0123.cubin")

    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(build, range(8))) == {b"code"}
    assert len(compiled) == 1


@POSIX
def test_nobody_waits_for_a_killed_or_for_a_stopped_process(tmp_path, monkeypatch):
    monkeypatch.setattr(kernel_cache, "folder", lambda: tmp_path)
    monkeypatch.setattr(kernel_cache, "_PATIENCE", 0.1)
    script = "import fcntl, sys; f = open(sys.argv[1], 'a'); fcntl.flock(f, 2); print(flush=True); input()"
    with kernel_cache.alone("01"):
        pass
    words = [sys.executable, "-c", script, str(tmp_path / "compiling" / "01")]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with kernel_cache.alone("01"):  # after a while
            other.kill()
    monkeypatch.setattr(kernel_cache, "_PATIENCE", 3600.0)
    with kernel_cache.alone("01"):
        pass


@pytest.mark.full
def test_twenty_processes_that_start_cold_draw_the_same(tmp_path):
    with ThreadPoolExecutor(20) as threads:
        done = list(threads.map(lambda _: started(tmp_path), range(20)))
    assert {(one.returncode, one.stdout, one.stderr) for one in done} == {(0, DRAWN, "")}


def test_a_damaged_binary_is_as_none(tmp_path, monkeypatch):
    monkeypatch.setattr(kernel_cache, "folder", lambda: tmp_path)
    assert kernel_cache.kept("one.cubin") is None
    kernel_cache.keep("one.cubin", b"code")
    assert kernel_cache.kept("one.cubin") == b"code"
    for content in (b"", b"short", b"x" + (tmp_path / "one.cubin").read_bytes()[1:]):
        (tmp_path / "one.cubin").write_bytes(content)
        assert kernel_cache.kept("one.cubin") is None


def test_a_text_is_rendered_again_only_when_a_template_or_a_constant_is_another(
    opencl, trial_template, tmp_path, monkeypatch
):
    (tmp_path / "cache").mkdir()
    monkeypatch.setattr(kernel_cache, "folder", lambda: tmp_path / "cache")
    rendered, made = partial(_rendered.rendered, language="opencl"), list[str]()
    name = trial_template("number", "// ${number}\n")
    render = templates.render

    def counted(template, language, **constants):
        made.append(str(constants))
        return render(template, language, **constants)

    monkeypatch.setattr(templates, "render", counted)
    texts = [rendered(name, constants={"number": number}).text for number in (1, 1.0, 1, True, 1.0)]
    assert made == ["{'number': 1}", "{'number': 1.0}", "{'number': True}"]
    assert [text.split()[-1] for text in texts] == ["1", "1.0", "1", "True", "1.0"]
    trial_template("number", "// more ${number}\n")
    monkeypatch.setattr(templates, "_TEMPLATES", templates._Kernels(templates._TEMPLATES.root))  # as a new process
    _rendered._files.cache_clear()
    assert rendered(name, constants={"number": 1}).text.split()[-2:] == ["more", "1"]
    assert rendered(name, constants={"number": np.array(object())}).text != ""  # its address is another every time
    assert len(list((tmp_path / "cache").iterdir())) == 4


def test_the_programs_used_longest_ago_make_room(tmp_path, monkeypatch):
    for number, name in enumerate(("OLD", "NEW", "NEWEST")):
        program = tmp_path / "AB" / name
        program.mkdir(parents=True)
        (program / "program.bc").write_bytes(bytes(100))
        (program / "last_accessed").touch()
        os.utime(program / "last_accessed", (number, number))
    first = kernel_cache._PoclFiles(tmp_path)
    first.list_soon()
    first._close()
    monkeypatch.setattr(kernel_cache, "_largest", lambda: 310)
    kernel_cache._PoclFiles(tmp_path)._close()
    assert sorted(path.name for path in (tmp_path / "AB").iterdir()) == ["NEW", "NEWEST"]


@pytest.mark.full
def test_without_a_folder_to_write_kernels_are_compiled_for_the_process():
    done = started("/proc/nowhere")
    assert (done.returncode, done.stdout) == (0, DRAWN)
    assert done.stderr.count("StorageWarning") == 1
    assert "compiled kernels cannot be kept in /proc/nowhere" in done.stderr
