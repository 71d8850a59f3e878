"""`umigame turn`: a relay for callers behind firewalls."""

import logging
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from server.settings import load
from server.terminal import run_async


def turn(
    config: Annotated[
        Path | None, typer.Option(help="Settings file.  [default: umigame.toml]")
    ] = None,
    show: Annotated[
        bool, typer.Option("--show", help="Print turnserver.conf, without the secret, and end.")
    ] = False,
) -> None:
    """Run coturn as [turn] in the settings says; its log, made readable, goes to stderr."""
    from server.coturn import config_of, relay
    from server.ice import urls_of_coturn
    from turn.coturn import Coturn, render

    settings = load(config)
    if show:
        text = render(config_of(settings), Path("/run/umigame"))
        typer.echo(text.replace(config_of(settings).secret, "…"))
        return
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )

    def started(running: Coturn) -> None:
        console = Console()
        console.print("Callers reach the relay at", *(Text(u) for u in urls_of_coturn(settings)))
        console.print(Text(f"UDP {running.relay_ports[0]}-{running.relay_ports[1]} must be open."))

    run_async(relay(settings, started))
