"""What every command prints and runs with."""

import asyncio
import json
from collections.abc import Coroutine
from dataclasses import asdict
from functools import cache
from typing import Annotated, Any, TypeVar

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

T = TypeVar("T")

Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


@cache
def messages() -> Console:
    """Where progress is shown: what moves on one terminal must know of each other."""
    return Console(stderr=True)


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """On a loop of its own, as fast as the server's."""
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)


def print_record(record: Any, as_json: bool) -> None:
    """A dataclass: a line a field, or JSON."""
    fields = asdict(record)
    if as_json:
        print(json.dumps(fields), flush=True)  # noqa: T201
        return
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for name, value in fields.items():
        table.add_row(
            Text(name.replace("_", " "), "bold"), Text("–" if value is None else str(value))
        )
    Console().print(table)
