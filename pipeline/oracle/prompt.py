"""How the LLM is told who it is and how to speak; the words are in prompt.txt.

The result depends on the session's settings only, never on time or turn, so that an LLM's
prompt cache holds it. The examples keep a small model short and to the point.
"""

from importlib import resources

from pipeline.types import Message, SessionConfig

_LANGUAGES = {
    "de": "German",
    "en": "English",
    "es": "Spanish",
    "fr": "French",
    "it": "Italian",
    "ja": "Japanese",
    "ko": "Korean",
    "pt": "Portuguese",
    "zh": "Chinese",
}
_TEMPLATE = resources.files("pipeline.oracle").joinpath("prompt.txt").read_text()
_EXAMPLES = "\n--- examples: "


def opening(config: SessionConfig) -> tuple[Message, ...]:
    """What stands before the conversation: the system message, and examples if we have any."""
    code = config.language.partition("-")[0].lower()
    filled = _fill(config, _LANGUAGES.get(code, config.language))
    system, *examples = filled.split(_EXAMPLES)
    dialogues = dict(example.split("\n", 1) for example in examples)
    lines = dialogues.get(code, "").splitlines()
    return (Message("system", system.strip()), *map(_message, lines))


def _fill(config: SessionConfig, language: str) -> str:
    values = {"name": config.persona.name, "language": language}
    # Last, and not by str.format: a persona may hold braces.
    text = _TEMPLATE
    for key, value in values.items():
        text = text.replace(f"{{{key}}}", value)
    return text.replace("{instructions}", config.persona.instructions)


def _message(line: str) -> Message:
    role, _, text = line.partition(": ")
    return Message(role.lower(), text)
