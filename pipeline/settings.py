"""What can be tuned in the pipeline, with defaults that work.

Plain frozen values: the server reads them from TOML, environment and flags, tests build them.
"""

from pydantic import BaseModel, ConfigDict, Field


class _Group(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class MediaSettings(_Group):
    """[media]: RTP in, RTP out."""


class HearingSettings(_Group):
    """[hearing]: when somebody speaks, and when they are done."""


class SttSettings(_Group):
    """[stt]: speech to text."""


class VoiceSettings(_Group):
    """[voice]: the CPU front-end."""

    slots: int = Field(default=4, ge=1, description="conversations at once")


class OracleSettings(_Group):
    """[oracle]: when the LLM is asked, and with how much history."""


class LlmSettings(_Group):
    """[llm]: which text model answers."""


class PipelineSettings(_Group):
    media: MediaSettings = MediaSettings()
    hearing: HearingSettings = HearingSettings()
    stt: SttSettings = SttSettings()
    voice: VoiceSettings = VoiceSettings()
    oracle: OracleSettings = OracleSettings()
    llm: LlmSettings = LlmSettings()
