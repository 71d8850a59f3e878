import jwt
import pytest

from server.auth import Auth, Gate
from server.errors import Forbidden, LockedOut, TooLarge, Unauthorised

SECRET = "correct horse battery staple"
KEY = b"k" * 32
NOW = 1_000_000.0
IP = "192.0.2.1"
SESSION = {"type": "realtime", "instructions": "Speak like a captain."}


@pytest.fixture
def auth() -> Auth:
    return Auth(SECRET, KEY)


def bearer(value: str) -> str:
    return f"Bearer {value}"


def test_the_operator_shows_the_secret(auth: Auth) -> None:
    auth.check_operator(bearer(SECRET), IP, NOW)
    assert auth.check_caller(bearer(SECRET), IP, NOW) == {}


@pytest.mark.parametrize(
    "authorization",
    ["", SECRET, f"Basic {SECRET}", "Bearer", "Bearer ", bearer(SECRET[:-1]), bearer("émigré")],
)
def test_nobody_else_passes(auth: Auth, authorization: str) -> None:
    with pytest.raises(Unauthorised):
        auth.check_operator(authorization, IP, NOW)
    with pytest.raises(Unauthorised):
        auth.check_caller(authorization, IP, NOW)


def test_the_secret_cannot_be_guessed_but_clients_of_that_address_are_not_locked_out(
    auth: Auth,
) -> None:
    for guess in range(10):
        with pytest.raises(Unauthorised):
            auth.check_caller(bearer(f"guess {guess}"), IP, NOW)
    with pytest.raises(LockedOut):
        auth.check_operator(bearer(SECRET), IP, NOW)
    auth.check_operator(bearer(SECRET), "192.0.2.2", NOW)
    assert auth.check_caller(bearer(auth.mint(SESSION, 600, NOW).value), IP, NOW) == SESSION


def test_a_page_that_shows_nothing_yet_guesses_nothing(auth: Auth) -> None:
    for _ in range(30):
        with pytest.raises(Unauthorised):
            auth.check_operator("", IP, NOW)
    auth.check_operator(bearer(SECRET), IP, NOW)


def test_a_client_secret_opens_calls_with_its_session_until_it_expires(auth: Auth) -> None:
    secret = auth.mint(SESSION, 600, NOW)
    assert secret.value.startswith("ek_") and secret.expires_at == NOW + 600
    assert auth.check_caller(bearer(secret.value), IP, NOW + 599) == SESSION
    with pytest.raises(Unauthorised, match="expired"):
        auth.check_caller(bearer(secret.value), IP, NOW + 600)


def test_a_client_secret_cannot_make_others(auth: Auth) -> None:
    with pytest.raises(Unauthorised):
        auth.check_operator(bearer(auth.mint({}, 600, NOW).value), IP, NOW)


def test_a_client_secret_of_another_server_or_forged_is_refused(auth: Auth) -> None:
    claims = {"exp": NOW + 600, "session": {}}
    unsigned = jwt.encode(claims, None, algorithm="none")
    for value in (
        Auth(SECRET, b"x" * 32).mint({}, 600, NOW).value,
        f"ek_{unsigned}",
        "ek_",
    ):
        with pytest.raises(Unauthorised, match="not valid"):
            auth.check_caller(bearer(value), IP, NOW)


def test_a_client_secret_never_shows_in_a_log(auth: Auth) -> None:
    secret = auth.mint({}, 600, NOW)
    assert secret.value not in repr(secret)


def test_a_session_too_long_for_a_header_is_refused(auth: Auth) -> None:
    with pytest.raises(TooLarge, match="session"):
        auth.mint({"instructions": "a" * 5000}, 600, NOW)


def test_without_a_secret_every_bearer_is_welcome() -> None:
    auth = Auth(None, KEY)
    stale = Auth(SECRET, b"x" * 32).mint(SESSION, 600, NOW).value
    for value in ("", "sk-any", stale):
        assert auth.check_caller(bearer(value), IP, NOW) == {}
    assert auth.check_caller(bearer(auth.mint(SESSION, 600, NOW).value), IP, NOW) == SESSION


@pytest.mark.parametrize(
    "host",
    [
        "localhost:8998",
        "LOCALHOST",
        "umi.localhost:80",
        "127.0.0.1:8998",
        "[::1]:8998",
        "192.0.2.7",
    ],
)
def test_addresses_and_local_names_are_answered(host: str) -> None:
    Gate().check(host, None)


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8998", "localhost.evil.example", "", "[", "a:b:c", "::1"]
)
def test_a_rebound_name_is_refused(host: str) -> None:
    with pytest.raises(Forbidden, match="allowed_hosts"):
        Gate().check(host, None)


def test_a_name_is_answered_once_it_is_allowed() -> None:
    Gate(hosts=["Voice.example"]).check("voice.example:443", "https://voice.example:443")


@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "",
        "https://evil.example",
        "http://localhost:3000",
        "http://localhost:8998.evil.example",
        "file://localhost:8998",
        "localhost:8998",
    ],
)
def test_other_sites_may_not_open_calls(origin: str) -> None:
    with pytest.raises(Forbidden, match="allowed_origins"):
        Gate().check("localhost:8998", origin)


def test_our_page_and_allowed_origins_may() -> None:
    gate = Gate(origins=["https://app.example/"])
    gate.check("localhost:8998", "http://localhost:8998")
    gate.check("localhost:8998", "https://app.example")
    assert gate.shares_with("https://app.example")
    assert not gate.shares_with("http://localhost:8998") and not gate.shares_with(None)
