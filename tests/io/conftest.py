"""What tests on a real clock share."""

import pytest

from server.weights import Weights


@pytest.fixture(scope="session")
def weights() -> Weights:
    """The default set, fetched into the user's cache once."""
    found = Weights()
    found.fetch(["vad", "llm", "tts"])
    return found
