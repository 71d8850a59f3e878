"""What a check finds, and how all of them are run."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

from pipeline.errors import UmigameError
from server.settings import Settings

Status = Literal["ok", "problem", "skipped"]


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    status: Status
    hint: str
    """What was found; of a problem, also what to do."""


Examine = Callable[[Settings], AsyncIterator[Check]]


async def examine(settings: Settings, parts: tuple[Examine, ...]) -> list[Check]:
    """All parts at once, in their order. What a part raises on purpose is a problem found."""
    found = await asyncio.gather(*(_collect(part, settings) for part in parts))
    return [check for checks in found for check in checks]


async def _collect(part: Examine, settings: Settings) -> list[Check]:
    found: list[Check] = []
    try:
        async for check in part(settings):
            found.append(check)
    except UmigameError as error:
        found.append(Check(part.__name__.replace("_", " "), "problem", str(error)))
    return found


def as_json(checks: list[Check]) -> dict[str, Any]:
    return {"checks": [asdict(check) for check in checks]}
