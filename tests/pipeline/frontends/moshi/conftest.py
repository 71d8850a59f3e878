"""Checkpoints, written once. Torch is imported only then: this file is read without it too."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.fakes.tiny_moshi import TinyCheckpoint


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    """Tiny operations on several threads wait for each other: a hundred times as slow on a busy
    machine."""
    import torch

    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def kame(tmp_path_factory: pytest.TempPathFactory) -> "TinyCheckpoint":
    from tests.fakes.tiny_moshi import write

    return write(tmp_path_factory.mktemp("kame"), kame=True)


@pytest.fixture(scope="session")
def plain(tmp_path_factory: pytest.TempPathFactory) -> "TinyCheckpoint":
    """Moshi: the same weights without the oracle's."""
    from tests.fakes.tiny_moshi import write

    return write(tmp_path_factory.mktemp("plain"), kame=False)
