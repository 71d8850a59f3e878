"""`umigame doctor`: finds what keeps a server from being reached or from starting."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from server.settings import load
from server.terminal import Json, messages, run_async

COLOURS = {"ok": "green", "problem": "bold red", "skipped": "dim"}


def doctor(
    config: Annotated[
        Path | None, typer.Option(help="Settings file.  [default: umigame.toml]")
    ] = None,
    as_json: Json = False,
) -> None:
    """Check ports, addresses, relays, certificates, weights, GPU and keys. Fails on a problem."""
    from server.doctor import checks, network, parts

    settings = load(config)
    everything = (
        network.http_port,
        network.media_ports,
        network.external,
        network.relays,
        network.certificates,
        network.clock,
        parts.front_end,
        parts.language_model,
        parts.weights,
        parts.gpu,
    )
    with messages().status("Looking…"):
        found = run_async(checks.examine(settings, everything))
    if as_json:
        typer.echo(json.dumps(checks.as_json(found)))
    else:
        table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
        for check in found:
            table.add_row(Text(check.status, COLOURS[check.status]), Text(check.name), check.hint)
        Console().print(table)
    if any(check.status == "problem" for check in found):
        raise typer.Exit(1)
