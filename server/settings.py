"""All settings: a TOML file, then UMIGAME_* variables, then flags; the last one wins.

The one reader of the environment. [server] port is UMIGAME_SERVER__PORT; lists have commas
there. Wrong or unknown keys raise ConfigError, which says where the value came from; the value
itself is never shown, for it may be a secret.
"""

import difflib
import ipaddress
import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    Field,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from pipeline.errors import ConfigError
from pipeline.settings import LlmProfile, PipelineSettings
from pipeline.types import Mode
from server.groups import Group, Names, Networks, Stts
from server.keys import llm_variables
from server.reach import File, NetworkSettings, TurnSettings

PER_IP = 4
"""Calls of one address, where others can call: of a household, say."""

DEFAULT_FILE = Path("umigame.toml")
"""Read from the working folder if it is there and no other was named."""

PREFIX = "UMIGAME_"
_NESTED = "__"


def default_cache() -> Path:
    """Where caches live (XDG base directories), unless server.cache says otherwise."""
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".cache") / "umigame"


class ServerSettings(Group):
    """[server]: where it listens, and who may use it."""

    host: str = "127.0.0.1"
    port: int = Field(default=8998, ge=0, le=65535, description="0: any free one")
    secret: SecretStr | None = Field(default=None, min_length=16)
    allowed_origins: Names = Field(default=(), description="pages of other origins, with scheme")
    allowed_hosts: Names = Field(default=(), description="names besides localhost and addresses")
    trusted_proxies: Networks = Field(
        default=(), description="addresses or networks whose X-Forwarded-For is believed"
    )
    tls_cert: File | None = Field(default=None, description="certificate chain (PEM): HTTPS")
    tls_key: File | None = Field(default=None, description="its private key (PEM)")
    front_end: str = "voice"
    cache: Annotated[Path, AfterValidator(Path.expanduser)] = Field(
        default_factory=default_cache, description="folder for what is fetched or made once"
    )

    @property
    def loopback(self) -> bool:
        """True if no other machine can reach it."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @property
    def exposed(self) -> bool:
        """True if others can call, by themselves or through a proxy."""
        return not self.loopback or bool(self.trusted_proxies)

    @field_validator("secret")
    @classmethod
    def _fits_a_header(cls, secret: SecretStr | None) -> SecretStr | None:
        if secret is not None and not secret.get_secret_value().isascii():
            raise ValueError("must be ASCII, for it travels in a header")
        return secret

    @model_validator(mode="after")
    def _whole_pair(self) -> "ServerSettings":
        if (self.tls_cert is None) != (self.tls_key is None):
            raise ValueError("tls_cert and tls_key go together")
        return self

    @model_validator(mode="after")
    def _secret_if_exposed(self) -> "ServerSettings":
        if self.secret is None and self.exposed:
            raise ValueError(
                "secret is needed when host is not loopback or a proxy hands calls on: set "
                f"{PREFIX}SERVER{_NESTED}SECRET to 16 random characters or more"
            )
        return self


class LimitSettings(Group):
    """[limits]: how many calls, and how long they may last."""

    calls: int | None = Field(default=None, ge=1, description="default: the engine's slots")
    queue: int = Field(default=8, ge=0, description="callers who may wait")
    per_ip: int | None = Field(default=None, ge=1, description="default: 4 where others can call")
    connect_s: float = Field(default=10, gt=0, description="from answer to first packet")
    idle_s: float = Field(default=600, gt=0, description="nobody has spoken or typed")
    length_s: float = Field(default=7200, gt=0, description="of a call")
    grace_s: float = Field(default=60, ge=0, description="a lost call may resume")
    drain_s: float = Field(default=10, ge=0, description="to end calls in at shutdown")


class SessionSettings(Group):
    """[session]: what a call gets unless it asks for something else."""

    mode: Mode | None = Field(default=None, description="default: the front-end's own")
    stt: Stts = Field(
        default=("local",),
        description="local, google or none; of several a call may choose, and gets the first."
        " none: only the front-end listens, and nothing but s2s is had",
    )
    language: str = Field(default="en-US", description="of callers; a BCP 47 tag such as ja-JP")
    llm: Names = Field(
        default=(), description="names of [llm.NAME], local or auto, the best liked first"
    )


class Settings(PipelineSettings, BaseSettings):
    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_nested_delimiter=_NESTED,
        enable_decoding=False,  # lists from the environment have commas, not JSON
        frozen=True,
        extra="forbid",
    )

    server: ServerSettings = Field(default_factory=ServerSettings)
    limits: LimitSettings = LimitSettings()
    session: SessionSettings = SessionSettings()
    network: NetworkSettings = NetworkSettings()
    turn: TurnSettings = TurnSettings()

    @property
    def per_ip(self) -> int | None:
        """Most calls of one address; None: no limit."""
        return self.limits.per_ip or (PER_IP if self.server.exposed else None)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        file_settings = TomlConfigSettingsSource(settings_cls)
        return init_settings, env_settings, file_settings, ProviderVariables(settings_cls, {})


class ProviderVariables(InitSettingsSource):
    """Keys and addresses of LLMs from the variables that their own clients read."""

    def __call__(self) -> dict[str, Any]:
        ours = self.current_state.get("llm", {})
        profiles = {name: each for name, each in ours.items() if isinstance(each, dict)}
        found = {name: llm_variables(each, os.environ) for name, each in profiles.items()}
        return {"llm": {**found, **llm_variables(ours, os.environ)}}


def load(file: Path | None = None, flags: Mapping[str, Any] | None = None) -> Settings:
    """The settings in force; `flags` is by group, as in TOML.

    Raises ConfigError for a missing or broken file, and for an unknown or wrong key.
    """
    if file is not None and not file.is_file():
        raise ConfigError(f"There is no settings file {file}.", hint="Check --config.")
    _check_environment(os.environ)
    values = dict(flags or {})

    class FromFile(Settings):
        model_config = SettingsConfigDict(toml_file=file or DEFAULT_FILE)

    try:
        return FromFile(**values)
    except ValidationError as error:
        raise _explain(error, file or DEFAULT_FILE, values) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise ConfigError(
            f"{file or DEFAULT_FILE} cannot be read: {error}.", hint="It must be TOML."
        ) from error


def _check_environment(environ: Mapping[str, str]) -> None:
    """pydantic-settings overlooks variables that it does not know."""
    known = list(_variables())
    for name in environ:
        upper = name.upper()
        if upper.startswith(PREFIX) and upper not in known and not _PROFILE.fullmatch(upper):
            raise ConfigError(f"{name} is not a setting.", hint=_suggest(upper, known))


_PROFILE = re.compile(
    rf"{PREFIX}LLM{_NESTED}[^_].*{_NESTED}({'|'.join(LlmProfile.model_fields)})", re.IGNORECASE
)
"""Variables of [llm.NAME]."""


def _variables() -> Iterator[str]:
    for group, field in Settings.model_fields.items():
        for key in _model_in(field.annotation).model_fields:
            yield f"{PREFIX}{group}{_NESTED}{key}".upper()


def _explain(error: ValidationError, file: Path, flags: Mapping[str, Any]) -> ConfigError:
    """The first thing that is wrong, without the value."""
    first = error.errors(include_url=False, include_input=False)[0]
    where = _origin(first["loc"], file, flags)
    key = ".".join(str(part) for part in first["loc"])
    if first["type"] in ("extra_forbidden", "model_type"):  # where profiles can be, so can typos
        known = list(_model_at(first["loc"][:-1]).model_fields)
        return ConfigError(
            f"{where}: {key} is not a setting.", hint=_suggest(str(first["loc"][-1]), known)
        )
    return ConfigError(f"{where}: {key}: {first['msg'].removeprefix('Value error, ')}.")


def _origin(loc: tuple[int | str, ...], file: Path, flags: Mapping[str, Any]) -> str:
    parts = [str(part) for part in loc]
    if parts[1:] and parts[1] in flags.get(parts[0], {}):
        return "Command line"
    names = {name.upper() for name in os.environ}
    for depth in (3, 2):
        variable = f"{PREFIX}{_NESTED.join(parts[:depth])}".upper()
        if variable in names:
            return variable
    return str(file) if file.is_file() else "Settings"


def _suggest(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"Did you mean {near[0]}?" if near else f"There are: {', '.join(known) or 'none'}."


def _model_at(loc: tuple[int | str, ...]) -> type[BaseModel]:
    model: type[BaseModel] = Settings
    for part in loc:
        if isinstance(part, str):
            field = model.model_fields.get(part)
            model = _model_in(field.annotation) if field else LlmProfile
    return model


def _model_in(annotation: object) -> type[BaseModel]:
    """The model that a field holds, itself or in a tuple."""
    held = (annotation, *get_args(annotation))
    return next(t for t in held if isinstance(t, type) and issubclass(t, BaseModel))
