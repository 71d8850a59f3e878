"""Settings of how callers reach us: [network] our own sockets, [turn] relays."""

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, SecretStr, model_validator

from server.groups import Addresses, Group, Names, Ports
from turn.urls import parse_url


def _check_urls(urls: tuple[str, ...]) -> tuple[str, ...]:
    for url in urls:
        parse_url(url)
    return urls


Urls = Annotated[Names, AfterValidator(_check_urls)]
File = Annotated[Path, AfterValidator(Path.expanduser)]


class NetworkSettings(Group):
    """[network]: where our side of a call's sound arrives."""

    advertised: Addresses = Field(
        default=(), description="public addresses, where a 1:1 NAT is in front of this machine"
    )
    ports: Ports = Field(default="", description="UDP, as 50000-50100; default: any")
    interfaces: Names = Field(
        default=(), description="to be used; default: all but those of containers and VMs"
    )


class IceServer(Group):
    """A STUN or TURN server, as in RTCIceServer."""

    urls: Urls
    username: str = ""
    credential: SecretStr = SecretStr("")


class TurnSettings(Group):
    """[turn]: relays for callers behind NAT and firewalls, ours or others'."""

    ice_servers: tuple[IceServer, ...] = Field(default=(), description="always the same")
    provider: SecretStr = Field(
        default=SecretStr(""), description="URL that answers with iceServers; may hold a key"
    )
    provider_token: SecretStr = Field(default=SecretStr(""), description="bearer: asked by POST")

    host: str = Field(default="", description="name or address at which callers reach coturn")
    secret: SecretStr | None = Field(
        default=None, min_length=16, description="which coturn shares with us"
    )
    ttl_s: int = Field(default=86_400, ge=1, description="life of credentials; calls outlive it")
    listening_port: int = Field(default=3478, ge=1, le=65_535, description="UDP and TCP")
    tls_listening_port: int = Field(
        default=5349, ge=1, le=65_535, description="used with a certificate"
    )
    urls: Urls = Field(default=(), description="default: from host and the ports")

    relay_only: bool = Field(default=False, description="our side of calls uses relays only")
    page_relay_only: bool = Field(default=False, description="pages use relays only")

    listen: Addresses = Field(default=(), description="coturn's addresses; default: all")
    external_ip: str = Field(default="", description="public one, where a 1:1 NAT is in front")
    relay_ports: Ports = Field(default="49152-65535", description="UDP")
    allowed_peers: Addresses = Field(
        default=(), description="the media server's; default: those of this machine"
    )
    quota: int = Field(default=0, ge=0, description="relayed paths at once; 0: any number")
    tls_cert: File | None = Field(default=None, description="default: server.tls_cert")
    tls_key: File | None = Field(default=None, description="default: server.tls_key")

    @model_validator(mode="after")
    def _whole(self) -> "TurnSettings":
        if (self.tls_cert is None) != (self.tls_key is None):
            raise ValueError("tls_cert and tls_key go together")
        if self.secret is not None and not (self.host or self.urls):
            raise ValueError("host is needed with secret: where callers reach coturn")
        known = self.secret or self.ice_servers or self.provider.get_secret_value()
        if (self.relay_only or self.page_relay_only) and not known:
            raise ValueError("relay_only needs a relay: set host and secret, or ice_servers")
        return self
