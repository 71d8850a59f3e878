"""What is refused at start, before anything is fetched or loaded; and what is then offered."""

import sys
from typing import Any

import pytest

from pipeline.engine.frontend import FrontEndInfo
from pipeline.errors import ConfigError
from pipeline.types import Mode
from server.build import mode, modes
from server.front_ends import chosen
from server.settings import load

MOSHI = {"server": {"front_end": "moshi"}}
KAME = FrontEndInfo("moshi", 24_000, 1_920, 4, True, (Mode.TANDEM, Mode.S2S))
VOICE = FrontEndInfo("voice", 24_000, 480, 4, False)


def check(flags: dict[str, Any]) -> None:
    settings = load(flags=flags)
    chosen(settings).check(settings)


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        ({"server": {"front_end": "parrot"}}, "no front-end .parrot.*There are: voice, moshi"),
        ({"session": {"mode": "s2s"}}, "cannot speak alone.*--mode tandem or --mode cascade"),
        ({"session": {"stt": "none"}}, "cannot speak alone.*no use without STT.*--front-end moshi"),
        ({"limits": {"calls": 9}}, r"9 calls.*4 slots.*Set slots under \[voice\]"),
        (MOSHI | {"session": {"mode": "cascade"}}, "no mode cascade.*--mode tandem or --mode s2s"),
        (MOSHI | {"limits": {"calls": 200}}, "200 calls.*128 slots.*Set --max-slots too"),
    ],
)
def test_what_the_front_end_cannot_do_is_told_with_what_it_can(
    flags: dict[str, Any], says: str
) -> None:
    with pytest.raises(ConfigError, match=says):
        check(flags)


@pytest.mark.parametrize(
    ("flags", "missing", "says"),
    [
        ({}, "piper", r"pip install 'umigame\[voice\]'"),
        (MOSHI, "torch", r"pip install 'umigame\[moshi\]'.*pip install --no-deps 'moshi"),
    ],
)
def test_a_missing_extra_is_told_by_the_commands_that_install_it(
    flags: dict[str, Any], missing: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ConfigError, match=says):
        check(flags)


def test_the_modes_are_those_of_the_front_end_and_its_first_is_the_default() -> None:
    assert mode(load(), VOICE) is Mode.TANDEM
    assert Mode.S2S not in modes(load(), VOICE)
    assert mode(load(), KAME) is Mode.TANDEM
    assert modes(load(), KAME) == (Mode.TANDEM, Mode.S2S)
    assert mode(load(flags={"session": {"mode": "s2s"}}), KAME) is Mode.S2S


def test_where_nobody_writes_down_what_is_said_the_front_end_speaks_alone_or_not_at_all() -> None:
    deaf = {"session": {"stt": "none"}}
    assert modes(load(flags=deaf), KAME) == (Mode.S2S,)
    assert mode(load(flags=deaf), KAME) is Mode.S2S
    with pytest.raises(ConfigError, match=r"no mode tandem with .* --stt none.*Use --mode s2s"):
        mode(load(flags={"session": {"stt": "none", "mode": "tandem"}}), KAME)
