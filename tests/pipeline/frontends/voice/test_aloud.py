import pytest

from pipeline.frontends.voice.aloud import aloud


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("It is 8,849 m (29,032 ft) tall.", "It is 8,849 meters (29,032 feet) tall."),
        ("At 9.8 m/s, or 35 km/h.", "At 9.8 meters per second, or 35 kilometers per hour."),
        ("At 100°C (212 °F).", "At 100 degrees Celsius (212 degrees Fahrenheit)."),
        ("A right angle has 90°.", "A right angle has 90 degrees."),
        ("World War II and World War I.", "World War 2 and World War 1."),
        ("Henry VIII and Elizabeth II.", "Henry the 8th and Elizabeth the 2nd."),
        ("4 x 2 = 8, 9 - 3 = 6, 6 / 2 = 3", "4 times 2 = 8, 9 minus 3 = 6, 6 divided by 2 = 3"),
        ("E = mc^2, and 2^10 is big.", "E = mc squared, and 2 to the power of 10 is big."),
        ("Half is 1/2, and 9/10 is more.", "Half is one half, and 9 over 10 is more."),
        ("Either/or, and/or.", "Either or, and or."),
        ("It costs $5.99, £3 or €1,200.", "It costs 5 dollars 99, 3 pounds or 1,200 euros."),
        ("It cost $1.5 million.", "It cost 1.5 million dollars."),
        ("Mt. Fuji.", "Mount Fuji."),
        ("The odds are 3:2.", "The odds are 3 to 2."),
        ("See https://www.example.com/a/b.html.", "See example dot com."),
        ("Write to info@example.com.", "Write to info at example dot com."),
        ("About ~176 lbs.", "About about 176 pounds."),
        ("<b>Paris</b> &amp; \\(x = 5\\).", "Paris & x = 5."),
    ],
)
def test_it_is_read_as_a_person_would(written: str, read: str) -> None:
    assert aloud(written) == read


@pytest.mark.parametrize(
    "text",
    [
        "It is 10:30 a.m. on Jan. 5, and 20 men are here.",
        "I am here, and so am I. Malcolm X was 5 minutes late.",
        "There are 7 days in a week; 3.5 is a number.",
        "Yes. That is well-known - or not.",
    ],
)
def test_plain_words_are_left_alone(text: str) -> None:
    assert aloud(text) == text
