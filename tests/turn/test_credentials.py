import base64
import hashlib
import hmac

import pytest

from turn.credentials import expired, mint

NOW = 1_700_000_000.9


def test_credentials_are_as_the_draft_and_coturn_want_them() -> None:
    made = mint("north", "alice", 3600, NOW)
    assert made.username == "1700003601:alice"
    digest = hmac.new(b"north", b"1700003601:alice", hashlib.sha1).digest()
    assert made.password == base64.b64encode(digest).decode()


def test_another_secret_makes_another_password() -> None:
    assert mint("north", "a", 60, NOW).password != mint("south", "a", 60, NOW).password


def test_a_password_is_not_shown_where_it_might_be_logged() -> None:
    made = mint("north", "alice", 3600, NOW)
    assert made.password not in repr(made)


@pytest.mark.parametrize(
    ("username", "over"),
    [("1699999999:a", True), ("1700000001:a", False), ("alice", False), ("12:3:a", True)],
)
def test_it_can_be_told_when_credentials_are_over(username: str, over: bool) -> None:
    assert expired(username, NOW) is over
