"""A client that believes only OpenAI's own types."""

import json
from typing import Any

from openai.types.realtime import RealtimeServerEvent
from pydantic import BaseModel, TypeAdapter

_READER: TypeAdapter[Any] = TypeAdapter(RealtimeServerEvent)

_OURS = {("session",): {"id", "object", "umigame"}, ("error",): {"hint"}}
"""Fields that OpenAI's types lack and that are sent on purpose; OpenAI sends the first two."""


def validated(event: dict[str, Any]) -> Any:
    """The event as OpenAI's SDK reads it; fails on a wrong type, a lack or an unknown field.

    The SDK lets unknown fields through, so those are looked for at every depth.
    """
    model = _READER.validate_json(json.dumps(event), strict=True)
    assert model.type == event["type"]
    _refuse_unknown(model, ())
    return model


def check(events: list[dict[str, Any]]) -> list[str]:
    """Validate all that bear OpenAI names; gives the types of all, in order."""
    for event in events:
        if not event["type"].startswith("umigame."):
            validated(event)
        else:
            json.dumps(event, allow_nan=False)
    ids = [event["event_id"] for event in events]
    assert len(set(ids)) == len(ids)
    return [event["type"] for event in events]


def _refuse_unknown(value: object, path: tuple[str, ...]) -> None:
    if isinstance(value, BaseModel):
        unknown = set(value.model_extra or {}) - _OURS.get(path, set())
        assert not unknown, f"{'.'.join(path)}: OpenAI knows no {unknown}"
        for name in type(value).model_fields:
            _refuse_unknown(getattr(value, name), (*path, name))
    elif isinstance(value, list):
        for each in value:
            _refuse_unknown(each, path)
