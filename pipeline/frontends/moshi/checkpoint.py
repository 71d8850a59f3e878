"""Which files make up a checkpoint, and where they are: on the Hub or here.

A config.json names them (moshi_name, mimi_name, tokenizer_name, lora_name, mimi_config_name), has
defaults for generation (lm_gen_config), and is for the rest the shape of the model. A name in the
settings wins; then a file beside a local config.json; then the repository.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.errors import ConfigError
from pipeline.settings import MoshiSettings

Fetch = Callable[[str, str], Path]
"""Repository and file name to a local path; raises FileNotFoundError if it has no such file,
ConfigError if there is no getting at it."""

_NOT_SHAPE = ("moshi_name", "mimi_name", "mimi_config_name", "tokenizer_name", "lora_name")
_NOT_LM = ("model_type", "lm_gen_config", "tts_config", "stt_config", "model_id")

_MOSHI = "model.safetensors"
_MIMI = "tokenizer-e351c8d8-checkpoint125.safetensors"
_TOKENIZER = "tokenizer_spm_32k_3.model"


@dataclass(frozen=True)
class Checkpoint:
    """Local paths, all of which exist, and what config.json says."""

    name: str
    """For messages: the repository or the file it came from."""
    moshi: Path
    mimi: Path
    tokenizer: Path
    lora: Path | None
    shape: Mapping[str, Any] | None
    """Arguments of upstream's LMModel; None: those of Moshi 7B (repositories without config)."""
    mimi_shape: Mapping[str, Any] | None
    """Of Mimi; None: the released one."""
    model_type: str
    generation: Mapping[str, Any]
    """lm_gen_config: arguments of upstream's LMGen."""


def find(settings: MoshiSettings, fetch: Fetch) -> Checkpoint:
    """Raises ConfigError if something is missing or unreadable."""
    files = _Files(settings.hf_repo, settings.config_path, fetch)
    config = files.config()
    names = {key: str(config.get(key) or "") for key in _NOT_SHAPE}
    lora = settings.lora_weight or names["lora_name"]
    mimi_config = names["mimi_config_name"]
    shape = {k: v for k, v in config.items() if k not in _NOT_SHAPE and k not in _NOT_LM}
    return Checkpoint(
        name=settings.config_path or settings.moshi_weight or settings.hf_repo,
        moshi=files.get(settings.moshi_weight, names["moshi_name"] or _MOSHI, "--moshi-weight"),
        mimi=files.get(settings.mimi_weight, names["mimi_name"] or _MIMI, "--mimi-weight"),
        tokenizer=files.get(
            settings.tokenizer, names["tokenizer_name"] or _TOKENIZER, "--tokenizer"
        ),
        lora=files.get(settings.lora_weight, lora, "--lora-weight") if lora else None,
        shape=shape or None,
        mimi_shape=read_json(files.get("", mimi_config, "--config-path")) if mimi_config else None,
        model_type=str(config.get("model_type", "moshi")),
        generation=config.get("lm_gen_config") or {},
    )


class _Files:
    def __init__(self, repo: str, config_path: str, fetch: Fetch) -> None:
        self._repo = repo
        self._config = Path(config_path) if config_path else None
        self._fetch = fetch

    def config(self) -> dict[str, Any]:
        """Empty for a repository of old that has none."""
        if self._config:
            return read_json(self._config)
        if not self._repo:
            raise ConfigError(
                "The model has no description.", hint="Name its config.json with --config-path."
            )
        try:
            return read_json(self._fetch(self._repo, "config.json"))
        except FileNotFoundError:
            return {}

    def get(self, chosen: str, name: str, option: str) -> Path:
        """`chosen` by the operator, else `name`, which may be hf://owner/repository/file."""
        if chosen:
            return _there(Path(chosen), option)
        if name.startswith("hf://"):
            owner, repo, file = name.removeprefix("hf://").split("/", 2)
            return self._fetched(f"{owner}/{repo}", file, option)
        if self._config and (beside := self._config.parent / name).is_file():
            return beside
        if not self._repo:
            raise ConfigError(f"There is no {name}.", hint=f"Name the file with {option}.")
        return self._fetched(self._repo, name, option)

    def _fetched(self, repo: str, file: str, option: str) -> Path:
        try:
            return self._fetch(repo, file)
        except FileNotFoundError as error:
            raise ConfigError(
                f"The repository {repo} has no {file}.",
                hint=f"Is it a Moshi or KAME checkpoint for PyTorch? {option} names a local file.",
            ) from error


def _there(path: Path, option: str) -> Path:
    if not path.is_file():
        raise ConfigError(f"There is no file {path}.", hint=f"Look at {option}.")
    return path


def read_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(_there(path, "--config-path").read_text())
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} is not JSON: {error}.", hint="Fetch it again.") from error
    if not isinstance(value, dict):
        raise ConfigError(f"{path} is not a model's description.", hint="Look at --config-path.")
    return value
