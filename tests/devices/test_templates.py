"""Templates: what they render to, and whose line an error names."""

import re
from pathlib import Path

import pytest

from engine.devices.cuda.compiler import compile_cubin
from engine.devices.kernels import templates
from engine.devices.kernels.program import Program
from engine.devices.kernels.source import dump
from engine.devices.kernels.templates import render
from engine.errors import BackendUnavailable, KernelError

CONTROL_LINES = """\
// A comment, and then everything that Mako takes out.
## one of Mako's own
<%doc>
a longer one
</%doc>
<%
    count = 3
%>
<% single = 1 %>
% for i in range(count):
FUNCTION i32 value${i}(void) { return ${i}; }
% endfor
% if count > 2 and \\
     single:

KERNEL broken(GLOBAL i32* out)
% endif
{
    out[0] = missing;
}
"""

MACROS = """\
#define PAIR(a, b) \\
    ((a) + \\
     (b))
% for name in ("X", "Y"):
#define SUM_${name} \\
% for i in range(3):
    ${i} + \\
% endfor
    0
% endfor

KERNEL broken(GLOBAL i32* out)
{
    out[0] = PAIR(SUM_X, SUM_Y);
    out[1] = missing;
}
"""


@pytest.fixture(params=["opencl", "nvrtc"])
def compile_trial(request):
    """``compile_trial(template)`` with each compiler that this machine has."""

    def with_nvrtc(template):
        try:
            compile_cubin(render(template, "cuda"), "sm_80", "no device")
        except BackendUnavailable as error:
            pytest.skip(str(error))

    def build(device, template):
        Program(device, render(template, "opencl")).kernel("broken")

    if request.param == "nvrtc":
        return with_nvrtc
    member = request.getfixturevalue("opencl")
    return lambda template: member.submit(build, template).result()


def prelude_names(language):
    text = (templates._TEMPLATES.root / f"common/prelude.{language}.mako").read_text(encoding="utf-8")
    return set(re.findall(r"^#define (\w+)", text, re.M)) | set(re.findall(r"^typedef [\w ]+?(\w+);", text, re.M))


def line_of(text, what):
    return next(number for number, line in enumerate(text.split("\n"), start=1) if what in line)


def test_both_preludes_define_the_same_names():
    names = prelude_names("cuda")
    assert names == prelude_names("opencl")
    assert {"KERNEL", "BARRIER", "u64", "f32", "MULTIPLY_HIGH_U32"} <= names


@pytest.mark.parametrize("text", [CONTROL_LINES, MACROS])
def test_a_compile_error_names_the_template_and_its_own_line(text, trial_template, compile_trial):
    template = trial_template("broken", text)
    with pytest.raises(KernelError) as caught:
        compile_trial(template)
    assert f"(trial/broken.mako, line {line_of(text, 'missing')})" in str(caught.value)
    assert "missing" in caught.value.log
    assert caught.value.source_path is not None
    assert "missing" in Path(caught.value.source_path).read_text(encoding="utf-8")
    compile_trial(trial_template("whole", text.replace("missing", "1")))  # directives break nothing


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("\n\nfirst ${block}\nsecond ${missing + 1}\n", 4),
        ("% for i in range(2):\n    ${i}\n% endfor\n// missing\n% if missing:\n% endif\n", 5),
        ("// missing\n<%\n    a = 1\n    b = missing\n%>\n", 4),
        ('x\n<%def name="inner()">\n${missing}\n</%def>\n${inner()}\n', 3),
    ],
)
def test_a_rendering_error_names_the_template_and_line(trial_template, text, line):
    template = trial_template("unset", text)
    with pytest.raises(KernelError, match=rf"\(trial/unset.mako, line {line}\)") as caught:
        render(template, "cuda", block=1)
    assert ("missing" in str(caught.value)) == ("missing" in text)


def test_a_link_of_a_dumped_files_name_is_replaced_rather_than_followed(tmp_path):
    source = render("common/scan", "opencl", value="i32", prefix="i32", block=64, items=4)
    victim = tmp_path / "victim.txt"
    victim.write_text("mine")
    (tmp_path / f"common-scan-{source.digest[:12]}.cl").symlink_to(victim)
    assert Path(dump(source, tmp_path)).read_text() == source.text
    assert victim.read_text() == "mine"
