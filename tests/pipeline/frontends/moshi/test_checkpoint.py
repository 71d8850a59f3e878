import json
from pathlib import Path

import pytest

from pipeline.errors import ConfigError
from pipeline.frontends.moshi import hub
from pipeline.frontends.moshi.checkpoint import find
from pipeline.settings import MoshiSettings


class Shelf:
    """A Hub: folders by the name of their repository."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.asked: list[str] = []

    def put(self, repo: str, *files: str, **config: object) -> None:
        folder = self._root / repo
        folder.mkdir(parents=True, exist_ok=True)
        for file in files:
            (folder / file).write_bytes(b"")
        if config:
            (folder / "config.json").write_text(json.dumps(config))

    def fetch(self, repo: str, file: str) -> Path:
        self.asked.append(f"{repo}/{file}")
        path = self._root / repo / file
        if not path.exists():
            raise FileNotFoundError(file)
        return path


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path / "hub")


def test_config_json_says_which_files_of_the_repository_are_meant(shelf: Shelf) -> None:
    names = {"moshi_name": "m.safetensors", "mimi_name": "c.safetensors", "tokenizer_name": "t"}
    shelf.put("a/b", *names.values(), **names, dim=64, lm_gen_config={"temp": 0.5})
    found = find(MoshiSettings(hf_repo="a/b"), shelf.fetch)
    assert [found.moshi.name, found.mimi.name, found.tokenizer.name] == list(names.values())
    assert found.shape == {"dim": 64}
    assert found.generation == {"temp": 0.5}


def test_a_repository_of_old_without_a_config_is_a_moshi_7b(shelf: Shelf) -> None:
    shelf.put(
        "a/b",
        "model.safetensors",
        "tokenizer-e351c8d8-checkpoint125.safetensors",
        "tokenizer_spm_32k_3.model",
    )
    found = find(MoshiSettings(hf_repo="a/b"), shelf.fetch)
    assert found.shape is None
    assert found.mimi_shape is None


def test_a_name_may_point_into_another_repository(shelf: Shelf) -> None:
    shelf.put("base/m", "w.safetensors", "c", "t")
    shelf.put(
        "a/lora",
        "l.safetensors",
        moshi_name="hf://base/m/w.safetensors",
        mimi_name="hf://base/m/c",
        tokenizer_name="hf://base/m/t",
        lora_name="l.safetensors",
        lora=True,
    )
    found = find(MoshiSettings(hf_repo="a/lora"), shelf.fetch)
    assert found.moshi.parts[-3:] == ("base", "m", "w.safetensors")
    assert found.lora is not None
    assert found.lora.parts[-3:] == ("a", "lora", "l.safetensors")


def test_local_files_win_and_then_nobody_asks_the_hub(shelf: Shelf, tmp_path: Path) -> None:
    for name in ("w.safetensors", "mimi", "spm"):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "config.json").write_text(json.dumps({"dim": 64, "mimi_name": "mimi"}))
    settings = MoshiSettings(
        config_path=str(tmp_path / "config.json"),
        moshi_weight=str(tmp_path / "w.safetensors"),
        tokenizer=str(tmp_path / "spm"),
    )
    found = find(settings, shelf.fetch)
    assert found.mimi == tmp_path / "mimi", "what is beside the config is meant by it"
    assert shelf.asked == []


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"hf_repo": "a/b"}, r"a/b has no model.safetensors.*--moshi-weight"),
        ({"hf_repo": ""}, r"no description.*--config-path"),
        ({"hf_repo": "a/b", "moshi_weight": "nowhere.sft"}, r"nowhere.sft.*--moshi-weight"),
        ({"config_path": "nowhere.json"}, r"nowhere.json.*--config-path"),
    ],
)
def test_what_is_missing_is_named_with_the_option_that_gives_it(
    shelf: Shelf, settings: dict[str, str], said: str
) -> None:
    shelf.put("a/b", dim=64)
    with pytest.raises(ConfigError, match=said):
        find(MoshiSettings(**settings), shelf.fetch)


def test_a_config_that_is_no_json_is_told(shelf: Shelf, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"dim": 64')
    with pytest.raises(ConfigError, match=r"config.json is not JSON"):
        find(MoshiSettings(config_path=str(tmp_path / "config.json")), shelf.fetch)


def test_a_repository_name_that_is_none_is_told_before_any_network() -> None:
    with pytest.raises(ConfigError, match=r"owner/name"):
        hub.fetch("not a/repository/name", "config.json")
