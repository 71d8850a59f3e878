"""Unit tests run on a virtual clock; those in tests/io and tests/e2e on a real one."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from pipeline.virtual_loop import VirtualLoop

REAL_TIME = {"io", "e2e"}
TESTS = Path(__file__).parent


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--moshi", action="store_true", help="also test the front-end moshi, which needs torch"
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Without --moshi nothing is collected whose file or folder is named for it."""
    named = any("moshi" in part for part in collection_path.relative_to(TESTS.parent).parts)
    return True if named and not config.getoption("--moshi") else None


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    if REAL_TIME & set(item.path.relative_to(TESTS).parts):
        return {"real": asyncio.new_event_loop}
    return {"virtual": VirtualLoop}


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if not config.getoption("--moshi"):
        terminalreporter.write_line("Nothing of the front-end moshi was tested: see --moshi.")
    tell_seconds(terminalreporter)


def tell_seconds(terminalreporter: pytest.TerminalReporter) -> None:
    """Tell how long each folder took, so that slow tests are noticed where they creep in."""
    spent_s: dict[str, float] = defaultdict(float)
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                folder = Path(report.nodeid.partition("::")[0]).parent
                spent_s["/".join(folder.parts[:3])] += report.duration
    if spent_s:
        terminalreporter.section("seconds by folder")
    for folder, seconds in sorted(spent_s.items()):
        terminalreporter.write_line(f"{seconds:8.1f}  {folder}")
