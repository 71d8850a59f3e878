"""Opus through libopus itself (RFC 6716, RFC 7587).

PyAV's own decoder knows neither FEC nor concealment, so this calls the libopus that PyAV's
wheel carries, or else the system's.
"""

import ctypes
import ctypes.util
import weakref
from functools import cache
from importlib.metadata import PackageNotFoundError, files
from typing import Any

import numpy as np

from pipeline.errors import ConfigError, InputError
from pipeline.types import Pcm

# opus_defines.h
_APPLICATION_VOIP = 2048
_SET_BITRATE = 4002
_SET_COMPLEXITY = 4010
_SET_INBAND_FEC = 4012
_SET_PACKET_LOSS_PERC = 4014

_MAX_PACKET_BYTES = 1275
"""RFC 6716 section 3.2.1: the largest frame."""


class OpusError(InputError):
    """A payload is not Opus, or libopus refused what it was asked."""


class OpusDecoder:
    """Mono, straight to `rate_hz` (8, 12, 16, 24 or 48 kHz); stereo is mixed down by libopus."""

    def __init__(self, rate_hz: int = 24_000) -> None:
        lib, error = _libopus(), ctypes.c_int()
        state = lib.opus_decoder_create(rate_hz, 1, ctypes.byref(error))
        _check_setting(error.value, rate_hz)
        weakref.finalize(self, lib.opus_decoder_destroy, state)
        self.rate_hz = rate_hz
        self._lib, self._state = lib, state
        self._step = rate_hz // 400
        self._pcm = np.empty(rate_hz, dtype=np.float32)
        self._at = self._pcm.ctypes.data

    def decode(self, payload: bytes) -> Pcm:
        """The packet's audio. Raises OpusError if it is not Opus."""
        return self._decode(payload, packet_samples(payload, self.rate_hz), 0)

    def decode_fec(self, next_payload: bytes, samples: int) -> Pcm:
        """The `samples` before `next_payload`: its in-band FEC for the last of them, PLC before.

        Where it carries no FEC, all is concealed. Decode `next_payload` itself afterwards.
        """
        return self._decode(next_payload, self._whole_steps(samples), 1)[-samples:]

    def conceal(self, samples: int) -> Pcm:
        """A guess at the next `samples` (PLC), fading as it is repeated."""
        return self._decode(None, self._whole_steps(samples), 0)[-samples:]

    def _whole_steps(self, samples: int) -> int:
        """libopus invents in units of 2.5 ms."""
        return -(-samples // self._step) * self._step

    def _decode(self, payload: bytes | None, samples: int, fec: int) -> Pcm:
        assert samples <= len(self._pcm), "at most a second at once"
        size = len(payload) if payload else 0
        made = self._lib.opus_decode_float(self._state, payload, size, self._at, samples, fec)
        _check(made)
        return self._pcm[:made].copy()


class OpusEncoder:
    """Mono speech with in-band FEC. libopus leaves FEC out unless it is told to expect loss."""

    def __init__(self, rate_hz: int = 24_000, bitrate: int = 32_000) -> None:
        lib, error = _libopus(), ctypes.c_int()
        state = lib.opus_encoder_create(rate_hz, 1, _APPLICATION_VOIP, ctypes.byref(error))
        _check_setting(error.value, rate_hz)
        weakref.finalize(self, lib.opus_encoder_destroy, state)
        for request, value in (
            (_SET_BITRATE, bitrate),
            (_SET_COMPLEXITY, 5),
            (_SET_INBAND_FEC, 1),
            (_SET_PACKET_LOSS_PERC, 10),
        ):
            _check(lib.opus_encoder_ctl(state, request, ctypes.c_int(value)))
        self.rate_hz = rate_hz
        self._lib, self._state = lib, state
        self._packet = ctypes.create_string_buffer(_MAX_PACKET_BYTES)

    def encode(self, pcm: Pcm) -> bytes:
        """One packet of 20 ms (rate_hz / 50 samples). Raises OpusError for a wrong length."""
        samples = np.ascontiguousarray(pcm, dtype=np.float32)
        size = self._lib.opus_encode_float(
            self._state, samples.ctypes.data, len(samples), self._packet, _MAX_PACKET_BYTES
        )
        _check(size)
        return self._packet.raw[:size]


def packet_samples(payload: bytes, rate_hz: int) -> int:
    """How long a packet lasts, in samples at `rate_hz`, by its TOC (RFC 6716 section 3.1).

    Raises OpusError if it is not Opus.
    """
    samples: int = _headers().opus_packet_get_nb_samples(payload, len(payload), rate_hz)
    _check(samples)
    return samples


def has_fec(payload: bytes) -> bool:
    """Whether it carries its predecessor again (LBRR, RFC 6716 section 4.2.4)."""
    found: int = _headers().opus_packet_has_lbrr(payload, len(payload))
    return found > 0


def _check(result: int) -> None:
    if result < 0:
        raise OpusError(f"libopus: {_libopus().opus_strerror(result).decode()}")


def _check_setting(error: int, rate_hz: int) -> None:
    if error:
        raise ConfigError(f"Opus cannot run at {rate_hz} Hz.", hint="Use 8, 12, 16, 24 or 48 kHz.")


@cache
def _libopus() -> Any:
    """The library, with its prototypes. Raises ConfigError if there is none to use."""
    try:
        lib = ctypes.CDLL(_path())
        lib.opus_packet_has_lbrr  # noqa: B018 (the newest function we need)
    except (OSError, AttributeError) as error:
        raise ConfigError(
            f"libopus 1.4 or later was not found ({error}).",
            hint="Install PyAV from its wheel (pip install --only-binary av av), or libopus0.",
        ) from error
    pointer, int32, c_int = ctypes.c_void_p, ctypes.c_int32, ctypes.c_int
    data, error_out = ctypes.c_char_p, ctypes.POINTER(ctypes.c_int)
    lib.opus_strerror.restype = ctypes.c_char_p
    lib.opus_decoder_create.restype = lib.opus_encoder_create.restype = pointer
    lib.opus_decoder_create.argtypes = [int32, c_int, error_out]
    lib.opus_encoder_create.argtypes = [int32, c_int, c_int, error_out]
    lib.opus_decoder_destroy.argtypes = lib.opus_encoder_destroy.argtypes = [pointer]
    lib.opus_decode_float.argtypes = [pointer, data, int32, pointer, c_int, c_int]
    lib.opus_encode_float.argtypes = [pointer, pointer, c_int, ctypes.c_char_p, int32]
    lib.opus_encoder_ctl.argtypes = [pointer, c_int]
    return lib


@cache
def _headers() -> Any:
    """The functions that only look at a packet: no time to let go of the interpreter's lock."""
    _libopus()
    lib = ctypes.PyDLL(_path())
    lib.opus_packet_has_lbrr.argtypes = [ctypes.c_char_p, ctypes.c_int32]
    lib.opus_packet_get_nb_samples.argtypes = [ctypes.c_char_p, ctypes.c_int32, ctypes.c_int32]
    return lib


def _path() -> str:
    return _bundled() or ctypes.util.find_library("opus") or "libopus.so.0"


def _bundled() -> str | None:
    """The copy in PyAV's wheel."""
    try:
        installed = files("av") or []
    except PackageNotFoundError:
        return None
    found = [file for file in installed if file.name.startswith("libopus")]
    return str(found[0].locate()) if found else None
