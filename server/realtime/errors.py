"""What is wrong with a client's JSON, be it an event or the session of a POST. Pure."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from pydantic import ValidationError

from pipeline.errors import InputError


class RequestError(InputError):
    """A client's JSON cannot be used.

    `param` is the path to the offending field, `event_id` the client's own id of the event.
    """

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        code: str = "invalid_value",
        param: str | None = None,
        event_id: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.code = code
        self.param = param
        self.event_id = event_id


def nearest(name: str, names: Sequence[str]) -> str:
    """A hint that names the most alike of `names`, or a few of them."""
    close = get_close_matches(name, names, n=1)
    return f'Did you mean "{close[0]}"?' if close else f"Known: {', '.join(sorted(names))}."


def from_validation(
    failed: ValidationError,
    root: str,
    names: Sequence[str],
    hints: Mapping[str, str],
    event_id: str | None = None,
) -> RequestError:
    """The first thing pydantic found wrong.

    `root` goes before its path, an unknown field is compared with `names`, and `hints` go by
    the full path.
    """
    found = failed.errors(include_url=False, include_input=False)[0]
    path = [str(step) for step in found["loc"]]
    param = ".".join([root, *path] if root else path)
    hint = hints.get(param, "")
    if found["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        code, says, hint = "unknown_parameter", "there is no such field", nearest(path[-1], names)
    elif found["type"] in ("missing", "missing_argument"):
        code, says = "missing_parameter", "it is required"
    else:
        code, says = "invalid_value", found["msg"][0].lower() + found["msg"][1:]
    return RequestError(f"{param}: {says}.", hint=hint, code=code, param=param, event_id=event_id)
