"""The built site, as a browser gets it: pages are parsed as trees, and laid out at the width of a phone."""

import functools
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import pytest

from tests.support.environment import ROOT
from tests.support.needs import package
from tests.support.patience import PATIENCE

for _name in ("mkdocs", "material", "mkdocstrings", "latex2mathml"):
    package(_name)
EMPTY = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PHONE = 390


@dataclass(eq=False)
class Element:
    """An element of a page: its tag, attributes, the tags around it, and its content."""

    tag: str
    attributes: dict[str, str]
    around: tuple[str, ...] = ()
    content: list["Element | str"] = field(default_factory=list)

    def all(self):
        for part in self.content:
            if isinstance(part, Element):
                yield part
                yield from part.all()

    def text(self):
        return "".join(part if isinstance(part, str) else part.text() for part in self.content)

    def of(self, *tags, kind=None):
        """The elements below it with one of these tags, or of this class."""
        return (one for one in self.all() if one.tag in tags or kind in one.attributes.get("class", "").split())


class _Tree(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open = [Element("", {})]

    def handle_starttag(self, tag, attrs):
        given = {name: value or "" for name, value in attrs}
        element = Element(tag, given, tuple(one.tag for one in self.open))
        self.handle_data(element)
        self.open += [element] * (tag not in EMPTY)

    def handle_endtag(self, tag):
        if tag not in EMPTY:
            assert tag == self.open[-1].tag, f"</{tag}> ends <{self.open[-1].tag}> {self.getpos()}"
            self.open.pop()

    def handle_data(self, data):
        self.open[-1].content.append(data)


@functools.cache
def page(path):
    """The tree of a page; an element that is not closed is an error."""
    tree = _Tree()
    tree.feed(path.read_text(encoding="utf-8"))
    tree.close()
    return tree.open[0]


@functools.cache
def article(path):
    """What a page says, without navigation and footer."""
    (found,) = page(path).of("article")
    return found


RUN = ("index.md", "guides/knapsack.md")
"""The pages whose code is run where not the whole suite is."""


@pytest.fixture(scope="module")
def site(tmp_path_factory, request):
    """The site, built; a warning of the build is an error."""
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    if "not full" in request.config.getoption("-m").replace("full or not full", ""):
        environment["DOCS_RUN"] = " ".join(RUN)
    done = subprocess.run(build, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=5 * PATIENCE)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return folder


@pytest.fixture(scope="module")
def pages(site):
    found = [path for path in sorted(site.rglob("*.html")) if path.name != "404.html"]
    assert len(found) > 30
    return found


def named(site, path):
    return path.relative_to(site).as_posix()


def of_pages(site, pages, *tags):
    """The elements with these tags of all pages, each after the name of its page."""
    return [(named(site, path), one) for path in pages for one in article(path).of(*tags)]


def test_formulas_in_a_line_are_in_a_paragraph_an_item_or_a_cell(site, pages):
    formulas = of_pages(site, pages, "math")
    assert len(formulas) > 50
    where = {"p", "li", "td", "th", "dd", "h1", "h2", "h3", "h4"}
    loose = [
        (path, one) for path, one in formulas if one.attributes["display"] != "block" and where.isdisjoint(one.around)
    ]
    assert [(path, one.text()) for path, one in loose] == []


def test_text_is_never_outside_a_block(site, pages):
    loose = [(named(site, path), part) for path in pages for part in article(path).content if isinstance(part, str)]
    assert [(path, part.strip()) for path, part in loose if part.strip()] == []


def test_lists_are_lists_and_every_item_says_something(site, pages):
    texts = [(path, " ".join(one.text().split())) for path, one in of_pages(site, pages, "li")]
    assert len(texts) > 500
    assert [(path, text) for path, text in texts if not text.rstrip("–—-: ") or text.endswith("–")] == []
    paragraphs = [(path, one.text()) for path, one in of_pages(site, pages, "p")]
    assert [(path, text) for path, text in paragraphs if re.search(r"^[-*] \S", text, re.MULTILINE)] == []


def test_types_and_signatures_of_the_reference_are_whole_and_each_name_has_a_line_of_the_index(site):
    reference = {path.stem: article(path) for path in sorted((site / "reference" / "python").glob("*.html"))}
    types = [one.text() for page in reference.values() for one in page.of("code") if "li" in one.around]
    assert len(types) > 300
    assert [text for text in types if re.search(r"\w - like|shape\(|^\([A-Z].*, .*\)$|^optional$", text)] == []
    signatures = [block.text() for page in reference.values() for block in page.of(kind="doc-signature")]
    assert len(signatures) > 100
    assert [line for text in signatures for line in text.splitlines() if len(line) > 88] == []
    rows = [one for one in article(site / "reference" / "python.html").of("tr") if "thead" not in one.around]
    assert set(reference) == {next(row.of("code")).text() for row in rows}
    assert [row.text() for row in rows if not row.text().strip().endswith(".")] == []


def test_code_has_its_output_under_it(site):
    for name, printed in (("index.html", "objective 220"), ("guides/knapsack.html", "objective 4.5")):
        shown = [block.text() for block in article(site / name).of(kind="output")]
        assert len(shown) > 3
        assert any(printed in text for text in shown)


@pytest.mark.full
def test_every_page_with_code_shows_an_output(site):
    source = {path.relative_to(ROOT / "docs"): path.read_text(encoding="utf-8") for path in ROOT.glob("docs/**/*.md")}
    code = [name for name, text in source.items() if re.search(r"```(python|bash)$", text, re.MULTILINE)]
    assert [name for name in code if not any(article(site / name.with_suffix(".html")).of(kind="output"))] == []
    assert 'class="plot"' in (site / "notebooks" / "horseshoe.html").read_text(encoding="utf-8")


def test_guides_are_short_and_begin_with_a_picture(site):
    guides = sorted((ROOT / "docs" / "guides").glob("*.md"))
    assert len(guides) == 5
    for guide in guides:
        assert len(guide.read_text(encoding="utf-8").splitlines()) <= 120
        built = article(site / "guides" / f"{guide.stem}.html")
        tags = [one.tag for one in built.all()]
        assert "img" in tags[: tags.index("h2")]
        assert [one.text() for one in built.of("label")][:3] == ["Python", "Command line", "Desktop app"]


QUESTIONS = {
    "install gpu": ("install.html",),
    "solve mps": ("guides/linear-programming.html", "reference/files.html"),
    "resume killed run": ("how-to/resume.html", "troubleshooting.html", "index.html"),
    "cuda not found": ("troubleshooting.html", "install.html"),
    "qubo matrix": ("guides/boa.html",),
    "how sure coefficient": ("guides/horseshoe.html",),
    "two gpus": ("scaling.html", "choose.html", "concepts/devices.html"),
    "time limit best": ("index.html", "choose.html"),
    "compare runs": ("how-to/sweeps.html", "how-to/desktop-app.html"),
    "cite": ("cite.html",),
}
"""What newcomers search for, and the pages of which one must be among the first five found."""


def _clicks(site, most):
    """The pages that links lead to from the first one, and after how many clicks; text only, no navigation."""
    reached, edge = {"index.html": 0}, ["index.html"]
    for count in range(1, most + 1):
        links = {
            (site / name).parent.joinpath(unquote(urlsplit(one.attributes["href"]).path)).resolve()
            for name in edge
            for one in article(site / name).of("a")
            if urlsplit(one.attributes.get("href", "")).path and "//" not in one.attributes["href"]
        }
        found = {path.relative_to(site.resolve()).as_posix() for path in links if path.suffix == ".html"}
        edge = sorted(found - reached.keys())
        reached |= dict.fromkeys(edge, count)
    return reached


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_newcomer_s_question_is_answered_by_one_search_and_within_three_clicks(site, question):
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    words = question.split()

    def score(section):
        title, text = section["title"].lower(), re.sub("<[^>]*>", " ", section["text"]).lower()
        hits = [10 * bool(re.search(rf"\b{word}", title)) + bool(re.search(rf"\b{word}", text)) for word in words]
        return float(section.get("boost", 1)) * sum(hits) * all(hits)

    ranked = sorted(index["docs"], key=score, reverse=True)
    found = [section["location"].partition("#")[0] for section in ranked if score(section)]
    assert set(list(dict.fromkeys(found))[:5]) & set(QUESTIONS[question])
    reached = _clicks(site, 3)
    for page_of in QUESTIONS[question]:
        assert reached.get(page_of, 9) <= 3, page_of


def _targets(path):
    """What a page refers to: addresses within the site, and their fragments."""
    for element in page(path).all():
        for attribute in ("href", "src"):
            address = urlsplit(element.attributes.get(attribute, ""))
            if not address.scheme and not address.netloc and (address.path or address.fragment):
                yield unquote(address.path), unquote(address.fragment)


def test_every_link_and_image_of_the_site_is_there(site, pages):
    ids = {}
    for path in pages:
        ids[path] = {
            one.attributes[name] for one in page(path).all() for name in ("id", "name") if name in one.attributes
        }
    count = 0
    for path in pages:
        for place, fragment in _targets(path):
            target = (path.parent / place).resolve() if place else path
            target = target / "index.html" if target.is_dir() else target
            assert target.is_file(), f"{named(site, path)} refers to {place}"
            assert not fragment or target not in ids or fragment in ids[target], (
                f"{named(site, path)}: {place}#{fragment}"
            )
            count += 1
    assert count > 1000


MEASURE = """<!doctype html><pre id="widths"></pre><script>
const widths = {}, frame = document.createElement("iframe");
frame.width = WIDTH; frame.height = 844; frame.style.border = 0;
document.body.append(frame);
async function measure() {
  for (const page of PAGES) {
    await new Promise(done => { frame.onload = done; frame.src = page; });
    widths[page] = frame.contentDocument.documentElement.scrollWidth;
  }
  document.getElementById("widths").textContent = JSON.stringify(widths);
}
measure();
</script>"""


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_no_page_is_wider_than_a_phone(site, pages, tmp_path):
    script = MEASURE.replace("WIDTH", str(PHONE)).replace("PAGES", json.dumps([named(site, path) for path in pages]))
    (site / "widths.htm").write_text(script, encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files", "--dump-dom"]
    where = [f"--user-data-dir={tmp_path}", "--virtual-time-budget=100000", (site / "widths.htm").as_uri()]
    done = subprocess.run([str(CHROMIUM), *options, *where], capture_output=True, text=True, timeout=5 * PATIENCE)
    found = re.search(r'<pre id="widths">(\{.*?\})</pre>', done.stdout)
    assert found is not None, done.stdout + done.stderr
    widths = json.loads(found[1])
    assert set(widths) == {named(site, path) for path in pages}
    assert {path: width for path, width in widths.items() if width > PHONE} == {}
