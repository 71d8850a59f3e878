"""Starts and ends the STTs of a server, each of which must be of use before anybody calls."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager

from pipeline.errors import ConfigError, ServiceError
from pipeline.stt.choice import SttChoice
from pipeline.stt.face import SpeechToText
from pipeline.stt.local import MoonshineStt
from pipeline.stt.none import NoStt
from server.settings import Settings

log = logging.getLogger(__name__)

PATIENCE_S = 10.0
"""For Google to answer, once, at start."""


@contextlib.asynccontextmanager
async def start_stts(settings: Settings) -> AsyncGenerator[SttChoice, None]:
    """Raises ConfigError, with the ways out."""
    async with contextlib.AsyncExitStack() as running:
        made: dict[str, SpeechToText] = {}
        for name in settings.session.stt:
            made[name] = await running.enter_async_context(_KINDS[name](settings))
        choice = SttChoice(made)
        language = settings.session.language
        if choice.languages and language.partition("-")[0] not in choice.languages:
            raise ConfigError(
                f"{choice.name} does not understand {language}, the language under [session].",
                hint="Use --stt google, which takes any, or another language.",
            )
        yield choice


@contextlib.asynccontextmanager
async def _local(settings: Settings) -> AsyncGenerator[SpeechToText, None]:
    with contextlib.closing(MoonshineStt()) as stt:
        yield stt


@contextlib.asynccontextmanager
async def _none(settings: Settings) -> AsyncGenerator[SpeechToText, None]:
    yield NoStt()


@contextlib.asynccontextmanager
async def _google(settings: Settings) -> AsyncGenerator[SpeechToText, None]:
    try:
        from pipeline.stt.google.access import WAYS_OUT, find_access
        from pipeline.stt.google.errors import Refused
        from pipeline.stt.google.speech import GoogleSpeech
        from pipeline.stt.google.stt import GoogleStt
    except ImportError as error:
        raise ConfigError(
            "The client for Google's STT is not installed.", hint="pip install 'umigame[google]'"
        ) from error
    access = await asyncio.to_thread(find_access, settings.stt)
    speech = GoogleSpeech(settings.stt, access)
    try:
        async with asyncio.timeout(PATIENCE_S):
            await speech.check(settings.session.language)
    except Refused as error:
        await speech.close()
        raise ConfigError(error.message, hint=f"{error.hint} {WAYS_OUT}") from error
    except (ServiceError, TimeoutError) as error:
        log.warning("%s Calls are taken all the same.", error or "Google's STT does not answer.")
    try:
        yield GoogleStt(speech, f"Google, {settings.stt.google_model}")
    finally:
        await speech.close()


_KINDS: dict[str, Callable[[Settings], AbstractAsyncContextManager[SpeechToText]]] = {
    "local": _local,
    "google": _google,
    "none": _none,
}
