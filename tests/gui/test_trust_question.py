"""The app executes code of a file only after the user has allowed exactly that code."""

import pytest

from engine.errors import InputError, UntrustedCode
from engine.runs.folder.run_folder import foreign_code, read_problem
from gui.app.trust import ask_trust


@pytest.fixture
def snippet(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    file = tmp_path / "x.boa"
    file.write_text("boa snippet n=20\nfor (int i = 0; i < N; i++) fitness += BIT(i);\n")
    return file


def error_of(path):
    with pytest.raises(UntrustedCode) as caught:
        read_problem(path)
    return caught.value


def press(box, text):
    next(button for button in box.buttons() if button.text().replace("&", "") == text).click()


def test_the_question_shows_file_digest_and_code_and_allows_it(qtbot, snippet):
    calls = []
    code = foreign_code(snippet)
    assert code is not None
    box = ask_trust(error_of(snippet), None, lambda: calls.append("retry"), lambda _: calls.append("report"))
    assert box is not None
    assert str(snippet) in box.text()
    assert code.digest in box.informativeText()
    assert "fitness += BIT(i)" in box.detailedText()
    press(box, "Allow")
    assert calls == ["retry"]
    assert foreign_code(snippet) is None


def test_declining_allows_nothing(qtbot, snippet):
    calls = []
    box = ask_trust(error_of(snippet), None, lambda: calls.append("retry"), lambda _: calls.append("report"))
    assert box is not None
    press(box, "Cancel")
    assert calls == ["report"]
    assert foreign_code(snippet) is not None


def test_other_errors_are_reported_at_once(qtbot):
    calls = []
    assert ask_trust(InputError("no"), None, lambda: calls.append("retry"), calls.append) is None
    assert [str(call) for call in calls] == ["no"]
