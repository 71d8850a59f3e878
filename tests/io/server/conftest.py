"""Servers to send requests to."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp.test_utils import TestClient

from tests.fakes.caller import SECRET, connect, settings_with
from tests.fakes.phone import FakePhone


@pytest.fixture
def phone() -> FakePhone:
    return FakePhone(calls=2)


@pytest.fixture
async def client(phone: FakePhone) -> AsyncIterator[TestClient[Any, Any]]:
    client = await connect(phone, settings_with())
    yield client
    await client.close()


@pytest.fixture
async def locked(phone: FakePhone) -> AsyncIterator[TestClient[Any, Any]]:
    """A server with a secret."""
    client = await connect(phone, settings_with(secret=SECRET))
    yield client
    await client.close()
