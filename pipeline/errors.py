"""Every error Umigame raises on purpose.

UmigameError
 ├── ConfigError      a setting, file or key is wrong: nothing starts
 ├── InputError       what a caller sent cannot be used: that request fails, nothing else
 ├── ChannelClosed    nothing more will come through a channel: the reader's work is done
 ├── EngineError      the front-end died: every session on it ends with this cause
 │    └── EngineFull  no slot is free: the caller waits in the queue
 └── ServiceError     STT, LLM or TTS failed: retried in its own branch, the voice goes on
      └── TakeOver    in mid-answer, but another LLM is ready: it is asked at once

Every error carries what went wrong and, where somebody can act on it, what to do next.
"""


class UmigameError(Exception):
    """Base of the tree; `hint` says what to do next, in words for a person."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class ConfigError(UmigameError):
    """A setting, weight file, key or extra is missing or wrong; found at start."""


class InputError(UmigameError):
    """A caller sent something that cannot be used."""


class ChannelClosed(UmigameError):
    """The channel is closed and drained."""

    def __init__(self, name: str) -> None:
        super().__init__(f"channel {name} is closed")


class EngineError(UmigameError):
    """The engine or its front-end failed for good."""


class EngineFull(EngineError):
    """All slots are taken."""


class ServiceError(UmigameError):
    """A back-end (STT, LLM, TTS) failed; `service` names it.

    `retry_after_s` is how long it asked to be left alone (0: it did not say).
    """

    def __init__(
        self, service: str, message: str, *, hint: str = "", retry_after_s: float = 0.0
    ) -> None:
        super().__init__(message, hint=hint)
        self.service = service
        self.retry_after_s = retry_after_s


class TakeOver(ServiceError):
    """An LLM failed after it had begun to answer, and another can be asked the same at once."""
