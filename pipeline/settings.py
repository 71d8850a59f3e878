"""What can be tuned in the pipeline, with defaults that work.

Plain frozen values: the server reads them from TOML, environment and flags, tests build them.
"""

import re
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator


class _Group(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class HearingSettings(_Group):
    """[hearing]: when somebody speaks, and when they are done."""

    fixed_silence_s: float | None = Field(
        default=None, gt=0, description="silence that ends every turn; unset: the words decide"
    )
    unsure_silence_s: float = Field(
        default=1.2, gt=0, description="silence that ends a turn whose words may go on"
    )
    unfinished_silence_s: float = Field(
        default=1.3, gt=0, description="silence that ends a turn whose words must go on"
    )


class VoiceSettings(_Group):
    """[voice]: the CPU front-end."""

    slots: int = Field(default=4, ge=1, description="conversations at once")
    opener_after_s: float = Field(
        default=0.12,
        ge=0,
        description="silence of the user, once noticed, after which an opener bridges the wait",
    )


class MoshiSettings(_Group):
    """[moshi]: the GPU front-end, a Moshi or KAME checkpoint."""

    hf_repo: str = Field(
        default="kyutai/moshiko-pytorch-bf16",
        description="Hub repository of the checkpoint; empty: local files only",
    )
    revision: str = Field(default="", description="its branch, tag or commit; empty: the newest")
    config_path: str = Field(default="", description="local config.json, instead of the Hub's")
    moshi_weight: str = Field(default="", description="local weights of the model (.safetensors)")
    mimi_weight: str = Field(default="", description="local weights of the codec (.safetensors)")
    tokenizer: str = Field(default="", description="local SentencePiece model")
    lora_weight: str = Field(default="", description="local LoRA weights (.safetensors)")
    fuse_lora: bool = Field(default=True, description="add LoRA into the weights: faster")
    random_weights: bool = Field(
        default=False, description="random weights and no files: to measure with"
    )
    random_size: Literal["7b", "tiny"] = Field(
        default="7b", description="of a model with random weights; tiny: for CPUs"
    )
    device: str = Field(default="cuda", description="cuda, cuda:1, … or cpu")
    dtype: Literal["bf16", "fp16", "fp32"] = Field(
        default="bf16", description="of the weights; Mimi always runs in fp32"
    )
    kv: Literal["full", "int8", "fp8"] = Field(
        default="full", description="what the cache of a conversation is kept in; full: as dtype"
    )
    max_slots: int = Field(
        default=128, ge=1, description="most conversations at once; fewer if memory holds fewer"
    )
    cfg_coef: float | None = Field(
        default=None, description="classifier-free guidance; unset: the checkpoint's, else 1 (none)"
    )
    temperature: float | None = Field(
        default=None, ge=0, description="of speech; 0: greedy; unset: the checkpoint's, else 0.8"
    )
    text_temperature: float | None = Field(
        default=None, ge=0, description="of the text; 0: greedy; unset: the checkpoint's, else 0.7"
    )
    top_k: int | None = Field(
        default=None, ge=1, le=250, description="of speech; unset: the checkpoint's, else 250"
    )
    text_top_k: int | None = Field(
        default=None, ge=1, le=250, description="of the text; unset: the checkpoint's, else 25"
    )
    seed: int | None = Field(
        default=None, description="of calls that bring none: first of a series; unset: random"
    )


class OracleSettings(_Group):
    """[oracle]: when the LLM is asked, and with how much history."""

    partial_interval_s: float = Field(
        default=0.5, ge=0, description="least time between two asks while the user speaks"
    )
    partial_words: int = Field(
        default=3, ge=1, description="words an unfinished sentence needs to be worth asking"
    )
    first_token_s: float = Field(
        default=6.0,
        gt=0,
        description="silence from the LLM before its first word that is a failure",
    )
    stall_s: float = Field(
        default=4.0, gt=0, description="silence from the LLM in mid-answer that is a failure"
    )
    retry_s: float = Field(
        default=0.5, gt=0, description="wait before a failed ask is repeated; doubles each time"
    )
    retry_cap_s: float = Field(default=4.0, gt=0, description="the longest such wait")
    give_up_s: float = Field(
        default=30.0, gt=0, description="a question older than this is not asked again"
    )
    answer_sentences: int = Field(default=2, ge=1, description="an answer is cut after these")
    history_tokens: int = Field(default=600, ge=100, description="history an LLM is shown")
    budget_tokens: int | None = Field(
        default=None, ge=1, description="most a conversation may cost, prompts included"
    )
    race: Literal["fallback", "hedge"] = Field(
        default="fallback",
        description="of several LLMs: ask the next when one fails, or all at once",
    )
    arbiter: Literal["first", "preference", "agreement"] = Field(
        default="first",
        description="hedge: whose answer is taken; the first to come, the first in the list"
        " unless it is preference_s late, or the first two that agree",
    )
    preference_s: float = Field(
        default=0.4, ge=0, description="hedge: wait for an LLM further up the list"
    )


class _Llm(_Group):
    model: str = Field(default="", description="the API's model name; empty: a sensible one")
    base_url: str = Field(default="", description="the API's address; empty: the provider's own")
    api_key: SecretStr = Field(default=SecretStr(""), description="the API's key")
    api_key_env: str = Field(
        default="", description="variable that holds the key; empty: the provider's own"
    )
    answer_tokens: int = Field(default=100, ge=1, description="longest answer")
    extra: dict[str, Any] = Field(
        default={}, description="added to each request as it is, as an API's own switches"
    )


class LlmProfile(_Llm):
    """[llm.NAME]: a text model with a name of its own."""

    provider: Literal["local", "openai", "anthropic"] = Field(
        default="openai", description="openai: any OpenAI-compatible API"
    )
    first_token_s: float | None = Field(
        default=None, gt=0, description="as [oracle] first_token_s, for this one"
    )


class LlmSettings(_Llm):
    """[llm]: which text model answers, if none is named."""

    model_config = ConfigDict(extra="allow")  # profiles, and nothing else
    __pydantic_extra__: dict[str, LlmProfile]

    provider: Literal["auto", "local", "openai", "anthropic"] = Field(
        default="auto",
        description="local: the small one that is brought along; openai: any OpenAI-compatible"
        " API; auto: OpenAI's if there is a key, else Ollama or vLLM on this machine, else local",
    )
    threads: int = Field(default=0, ge=0, description="local: CPU threads; 0: by the machine")
    context_tokens: int = Field(default=2048, ge=512, description="local: context of a request")

    @property
    def profiles(self) -> Mapping[str, LlmProfile]:
        return self.__pydantic_extra__

    @model_validator(mode="after")
    def _names_can_be_listed(self) -> "LlmSettings":
        for name in self.profiles:
            if not re.fullmatch("[a-z0-9][a-z0-9._-]*", name) or name == "auto":
                raise ValueError(f"{name}: a profile's name has small letters, digits, - . and _")
        return self


class SttSettings(_Group):
    """[stt]: how Google's STT is asked; the local one has nothing to set."""

    google_project: str = Field(default="", description="who pays; empty: as in the credentials")
    google_credentials: str = Field(
        default="",
        description="JSON file of a service account; empty: where Google's own tools keep them",
    )
    google_location: str = Field(
        default="global", description="global, or a region such as europe-west4: models differ"
    )
    google_endpoint: str = Field(
        default="", description="address, if not the location's; http://… for a stand-in"
    )
    google_model: str = Field(default="long", description="long, short, telephony, chirp_2, …")
    google_punctuation: bool = Field(
        default=True, description="ask for full stops and question marks"
    )


class PipelineSettings(_Group):
    hearing: HearingSettings = HearingSettings()
    voice: VoiceSettings = VoiceSettings()
    moshi: MoshiSettings = MoshiSettings()
    oracle: OracleSettings = OracleSettings()
    llm: LlmSettings = LlmSettings()
    stt: SttSettings = SttSettings()
