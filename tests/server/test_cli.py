import json
from pathlib import Path

import pytest

from pipeline.errors import EngineError
from server import cli
from server.app import Choice

CHOICES = [Choice("STT", "moonshine [tiny]", "no key is set"), Choice("LLM", "gpt-4.1", "a key is")]


def run(monkeypatch: pytest.MonkeyPatch, *argv: str) -> int | str | None:
    monkeypatch.setattr("sys.argv", ["umigame", *argv])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    return caught.value.code


def test_a_wrong_setting_is_told_in_words_on_stderr(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("[server]\nprot = 1\n")
    assert run(monkeypatch, "serve", "--config", str(file)) == 2
    out, err = capsys.readouterr()
    assert "server.prot is not a setting" in err.replace("\n", "")
    assert "Did you mean port?" in err
    assert "Traceback" not in err and not out


def test_a_flag_beyond_its_range_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(monkeypatch, "serve", "--max-calls", "0") == 2
    assert "Command line: limits.calls" in capsys.readouterr().err


def test_without_a_command_it_says_which_there_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch) == 2
    shown = "".join(capsys.readouterr())
    assert all(each in shown for each in ("serve", "talk", "replay", "bench"))


def test_a_mode_that_does_not_exist_is_told_with_those_that_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(monkeypatch, "serve", "--mode", "duet") == 2
    err = capsys.readouterr().err
    assert "session.mode" in err and "'tandem', 'cascade' or 's2s'" in err
    assert "Traceback" not in err


def test_a_question_that_is_not_there_is_told_before_anybody_is_called(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(monkeypatch, "talk", "no.wav") == 2
    assert "'no.wav' does not exist" in capsys.readouterr().err


def test_an_error_inside_a_group_of_tasks_is_told_plainly_and_without_a_traceback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        inner = ExceptionGroup("inner", [EngineError("The front-end died.", hint="See the log.")])
        raise BaseExceptionGroup("outer", [inner])

    monkeypatch.setattr(cli, "command", fail)
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert (left.value.code, type(left.value.__context__)) == (1, type(None))
    assert "The front-end died." in capsys.readouterr().err


def test_the_summary_tells_what_was_chosen_why_and_where_to_go(
    capsys: pytest.CaptureFixture[str],
) -> None:
    cli.print_summary("http://localhost:8998/", CHOICES)
    told = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert told == [
        "STT  moonshine [tiny]",
        "no key is set",
        "LLM  gpt-4.1",
        "a key is",
        "Talk to it at http://localhost:8998/, end with Ctrl-C.",
    ]


def test_programs_get_the_summary_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    cli.print_json("http://localhost:8998/", CHOICES)
    told = json.loads(capsys.readouterr().out)
    assert told["url"] == "http://localhost:8998/"
    assert told["choices"][1] == {"part": "LLM", "name": "gpt-4.1", "why": "a key is"}
