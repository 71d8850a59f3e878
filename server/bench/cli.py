"""`umigame bench …`: measures a server over real WebRTC, or an engine alone."""

from pathlib import Path
from typing import Annotated

import typer

from server.terminal import Json, print_record, run_async

bench = typer.Typer(name="bench", no_args_is_help=True, help="Measure a server or an engine.")

Trace = Annotated[
    Path | None, typer.Option(help="Where to write what happened when, a line of JSON a question.")
]


@bench.command()
def latency(
    modes: Annotated[str, typer.Option(help="Of tandem and cascade, with commas.")] = (
        "tandem,cascade"
    ),
    cascade_silence: Annotated[
        float | None,
        typer.Option(help="Seconds that end a cascade's turn.  [default: the shortest that does]"),
    ] = None,
    trace: Trace = None,
    as_json: Json = False,
) -> None:
    """How soon spoken questions are answered, and how often it takes over in a pause."""
    from server.bench.latency import measure, read_modes

    print_record(run_async(measure(read_modes(modes), cascade_silence, trace)), as_json)


@bench.command()
def load(
    calls: Annotated[str, typer.Option(help="How many at once, with commas.")] = "1,2,4,8",
    seconds: Annotated[float, typer.Option(help="For each of them.")] = 40.0,
    as_json: Json = False,
) -> None:
    """What calls cost, and how many this machine carries."""
    from server.bench.load import measure, read_calls

    print_record(run_async(measure(read_calls(calls), seconds)), as_json)


@bench.command()
def media(
    runs: Annotated[int, typer.Option(min=1, help="Of which the medians are given.")] = 5,
    seconds: Annotated[float, typer.Option(min=1, help="For each.")] = 6.0,
    most_peers: Annotated[int, typer.Option(min=0, help="To try on one core.")] = 120,
    as_json: Json = False,
) -> None:
    """How long audio takes through the media path beside stock aiortc, and how many calls fit."""
    from server.bench.media.report import measure

    print_record(run_async(measure(runs, seconds, most_peers)), as_json)


@bench.command()
def engine(
    front_end: Annotated[str, typer.Option(help="There is: moshi.")] = "moshi",
    random_weights: Annotated[
        bool, typer.Option("--random-weights", help="Nothing is fetched; needed as yet.")
    ] = False,
    size: Annotated[str, typer.Option(help="7b, or tiny for a CPU.")] = "7b",
    device: Annotated[str, typer.Option(help="cuda, cuda:1, … or cpu")] = "cuda",
    slots: Annotated[str, typer.Option(help="Callers at once, with commas.")] = "1,16,64,128",
    fill: Annotated[str, typer.Option(help="Share of the context that is filled.")] = "0.25,1.0",
    kv: Annotated[str, typer.Option(help="Of full and int8, with commas.")] = "int8",
    seconds: Annotated[float, typer.Option(min=1, help="For each of them.")] = 60.0,
    as_json: Json = False,
) -> None:
    """How many callers one engine carries in time, beside upstream's own loop with one."""
    from server.bench.engine import measure, read_wanted

    wanted = read_wanted(front_end, random_weights, size, device, slots, fill, kv, seconds)
    print_record(run_async(measure(wanted)), as_json)
