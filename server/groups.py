"""What groups of settings are made of."""

import ipaddress
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict


def _split(value: object) -> object:
    return [part.strip() for part in value.split(",") if part] if isinstance(value, str) else value


def _check_networks(networks: tuple[str, ...]) -> tuple[str, ...]:
    for network in networks:
        ipaddress.ip_network(network)
    return networks


def _check_stts(names: tuple[str, ...]) -> tuple[str, ...]:
    wrong = next((name for name in names if name not in ("local", "google", "none")), None)
    if wrong is not None or not names:
        raise ValueError(f'there is no STT "{wrong or ""}"; there are: local, google, none')
    if "none" in names and len(names) > 1:
        raise ValueError("none is not to be had beside others")
    return names


def _check_addresses(addresses: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(str(ipaddress.ip_address(address)) for address in addresses)


def _read_ports(text: str) -> str:
    first, _, last = text.partition("-")
    if text and not (first.isdecimal() and last.isdecimal() and 0 < int(first) <= int(last)):
        raise ValueError("must read like 50000-50100")
    if text and int(last) > 65_535:
        raise ValueError("ports end at 65535")
    return text


Names = Annotated[tuple[str, ...], BeforeValidator(_split)]
Stts = Annotated[Names, AfterValidator(_check_stts)]
Networks = Annotated[Names, AfterValidator(_check_networks)]
Addresses = Annotated[Names, AfterValidator(_check_addresses)]
Ports = Annotated[str, AfterValidator(_read_ports)]
"""First and last, joined by a hyphen."""


def port_range(text: str) -> range:
    first, _, last = text.partition("-")
    return range(int(first), int(last) + 1)


class Group(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
