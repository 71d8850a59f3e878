"""How what is written is read aloud, in English, where Piper would spell it out or misread it.

The listener sees the text as it was written. All of this is pure.
"""

import html
import re
from collections.abc import Callable

_UNITS = {
    "m": "meters",
    "km": "kilometers",
    "cm": "centimeters",
    "mm": "millimeters",
    "ft": "feet",
    "kg": "kilograms",
    "lb": "pounds",
    "lbs": "pounds",
    "mph": "miles per hour",
    "km/h": "kilometers per hour",
    "m/s": "meters per second",
    "°": "degrees",
    "°C": "degrees Celsius",
    "°F": "degrees Fahrenheit",
}
_MONEY = {"$": "dollars", "€": "euros", "£": "pounds"}
_TENS = {"": 0, "X": 10}
_ONES = ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX")
_ROMAN = {ten + one: _TENS[ten] + number for ten in _TENS for number, one in enumerate(_ONES)}


def _unit(match: re.Match[str]) -> str:
    return f"{match[1]} {_UNITS[match[2]]}"


def _money(match: re.Match[str]) -> str:
    sign, whole, cents, zeros = match.groups("")
    return " ".join(filter(None, (whole, zeros, _MONEY[sign], cents)))


def _number(match: re.Match[str]) -> str:
    return f"{match[1]}{_ROMAN.get(match[2], match[2])}"


def _ordinal(match: re.Match[str]) -> str:
    """As of kings: "Louis XIV"."""
    number = _ROMAN.get(match[1])
    if number is None:
        return match[1]
    ending = "th" if number > 3 else ("nd" if number == 2 else "rd")
    return f"the {number}{ending}"


_READINGS: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = tuple(
    (re.compile(written), said)
    for written, said in (
        (r"</?[a-zA-Z][^<>]*>", ""),
        (r"https?://(?:www\.)?|\bwww\.(?=\w)", ""),
        (r"(?<=\w)@(?=\w)", " at "),
        (r"(?<=[a-z])\.(com|org|net|io|edu|gov)\b(?:/[^\s,;]*(?<![.?!]))?", r" dot \1"),
        (rf"(\d)\s?({'|'.join(sorted(_UNITS, reverse=True))})(?![\w°/])", _unit),
        (r"([$€£])(\d[\d,]*(?:\.\d(?!\d))?)(?:\.(\d\d))?\b(?: ([a-z]{1,2}illion)\b)?", _money),
        (r"\bMt\. ", "Mount "),
        (r"\b((?:War|Part|Chapter|Volume|Apollo|Type|Act) )([IVX]+)\b", _number),
        (r"(?<=[a-z] )(?!I\b)([IVX]{2,})\b", _ordinal),
        (r"(?<=\d) [x×*] (?=\d)", " times "),
        (r"(?<=\d) [-−] (?=\d)", " minus "),
        (r"(?<=\d) [/÷] (?=\d)", " divided by "),
        (r"\b1/2\b", "one half"),
        (r"(?<=\d)/(?=\d)", " over "),
        (r"(?<=[a-z])/(?=[a-z])", " "),
        (r"(?<=\d):(?=\d(?!\d))", " to "),
        (r"\^2\b|²", " squared"),
        (r"\^3\b|³", " cubed"),
        (r"\^(?=\w)", " to the power of "),
        (r"~\s?(?=\d)", "about "),
        (r" > ", " is greater than "),
        (r" < ", " is less than "),
        (r"\\[()\[\]]|\\", ""),
    )
)


def aloud(text: str) -> str:
    """`text` in the words that a reader would say."""
    said = html.unescape(text)
    for written, reading in _READINGS:
        said = written.sub(reading, said)
    return " ".join(said.split())
