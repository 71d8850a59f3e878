"""What is refused at start, before anything is fetched or loaded."""

import sys
from typing import Any

import pytest

from pipeline.errors import ConfigError
from server.build import refuse_impossible
from server.settings import load


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        ({"server": {"front_end": "moshi"}}, "no front-end .moshi.*There is: voice"),
        ({"session": {"mode": "s2s"}}, "cannot speak alone.*--mode tandem or --mode cascade"),
        ({"limits": {"calls": 9}}, r"9 calls.*4 slots.*Set slots under \[voice\]"),
    ],
)
def test_what_the_front_end_cannot_do_is_told_with_what_it_can(
    flags: dict[str, Any], says: str
) -> None:
    with pytest.raises(ConfigError, match=says):
        refuse_impossible(load(flags=flags))


def test_a_missing_extra_is_told_by_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "piper", None)
    with pytest.raises(ConfigError, match=r"pip install 'umigame\[voice\]'"):
        refuse_impossible(load())
