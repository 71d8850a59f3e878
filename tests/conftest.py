"""Unit tests run on a virtual clock; those in tests/io and tests/e2e on a real one."""

import asyncio
from collections.abc import Callable, Mapping

import pytest

from tests.fakes.virtual_loop import VirtualLoop

REAL_TIME = {"io", "e2e"}


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    if REAL_TIME & set(item.path.parts):
        return {"real": asyncio.new_event_loop}
    return {"virtual": VirtualLoop}
