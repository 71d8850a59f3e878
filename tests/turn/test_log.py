import logging

import pytest

from turn.log import read_line


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "0: : IPv4. UDP listener opened on: 192.0.2.2:3479",
            (logging.INFO, "listens on 192.0.2.2:3479, UDP"),
        ),
        (
            "1: : session 001: new, realm=<test>, username=<1796079048:5f3a>, lifetime=600",
            (logging.INFO, "relays for 5f3a"),
        ),
        (
            "2: : session 001: closed (2nd stage), user <1796079048:5f3a> realm <test> origin <>, "
            "local 192.0.2.2:3479, remote 192.0.2.9:41827, reason: allocation timeout",
            (logging.INFO, "relays no more for 5f3a at 192.0.2.9:41827: allocation timeout"),
        ),
        (
            "1: : ERROR: check_stun_auth: Cannot find credentials of user <1796079044:5f3a>",
            (logging.WARNING, "refused 5f3a: the credentials are wrong or have expired"),
        ),
        (
            "9: : session 001: realm <test> user <1:5f3a>: incoming packet CHANNEL_BIND processed, "
            "error 403: Forbidden IP",
            (logging.WARNING, "refused 5f3a: the peer's address is not allowed (Forbidden IP)"),
        ),
        (
            "0: : ERROR: Cannot open private key file",
            (logging.WARNING, "Cannot open private key file"),
        ),
    ],
)
def test_what_concerns_an_operator_reads_like_a_sentence(line: str, said: object) -> None:
    assert read_line(line) == said


@pytest.mark.parametrize(
    "line",
    [
        "==== Show him the instruments, Practical Frost: ====",
        "0: : SQLite DB connection success: /tmp/turn/db",
        "1: : session 001: realm <test> user <>: incoming packet message processed, error 401: x",
        "2: : session 001: closed (2nd stage), user <> realm <t> origin <>, local 1.2.3.4:1, "
        "remote 192.0.2.9:41827, reason: TCP connection closed by client (callback)",
    ],
)
def test_the_rest_is_not_repeated(line: str) -> None:
    assert read_line(line) is None
