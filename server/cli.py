"""The command `umigame`. Each sub-command imports what it needs when it is called."""

import json
import logging
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pipeline.errors import ConfigError, UmigameError
from server.bench.cli import bench
from server.cli_doctor import doctor
from server.cli_turn import turn
from server.settings import load
from server.terminal import Json, messages, print_record, run_async

if TYPE_CHECKING:
    from server.app import Choice

command = typer.Typer(
    name="umigame", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False
)
command.add_typer(bench)
command.command()(turn)
command.command()(doctor)

Config = Annotated[Path | None, typer.Option(help="Settings file.  [default: umigame.toml]")]


@command.callback()
def umigame() -> None:
    """A self-hosted real-time voice server: answers at once, and knows things."""


@command.command()
def serve(
    config: Config = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="0: any free one.")] = None,
    front_end: Annotated[str | None, typer.Option(help="What speaks: voice or moshi.")] = None,
    stt: Annotated[
        str | None, typer.Option(help="Speech to text: local, google or none; or local,google.")
    ] = None,
    llm: Annotated[str | None, typer.Option(help="The text model, or several: gpt,claude.")] = None,
    mode: Annotated[str | None, typer.Option(help="tandem, cascade or s2s.")] = None,
    max_calls: Annotated[int | None, typer.Option(help="Calls at once.")] = None,
    hf_repo: Annotated[str | None, typer.Option(help="moshi: checkpoint on the Hub.")] = None,
    config_path: Annotated[str | None, typer.Option(help="moshi: local config.json.")] = None,
    moshi_weight: Annotated[str | None, typer.Option(help="moshi: local weights.")] = None,
    mimi_weight: Annotated[str | None, typer.Option(help="moshi: the codec's.")] = None,
    tokenizer: Annotated[str | None, typer.Option(help="moshi: SentencePiece model.")] = None,
    lora_weight: Annotated[str | None, typer.Option(help="moshi: local LoRA weights.")] = None,
    device: Annotated[str | None, typer.Option(help="moshi: cuda, cuda:1, … or cpu.")] = None,
    dtype: Annotated[str | None, typer.Option(help="moshi: bf16, fp16 or fp32.")] = None,
    kv: Annotated[str | None, typer.Option(help="moshi: cache in full, int8 or fp8.")] = None,
    max_slots: Annotated[int | None, typer.Option(help="moshi: most calls to hold.")] = None,
    tls_cert: Annotated[Path | None, typer.Option(help="For HTTPS: certificates (PEM).")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="Their private key (PEM).")] = None,
    with_turn: Annotated[
        bool, typer.Option("--turn", help="Run coturn too: with the settings under turn.")
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log more.")] = False,
    as_json: Json = False,
) -> None:
    """Run the server and its page."""
    flags = {
        "server": _given(
            host=host, port=port, front_end=front_end, tls_cert=tls_cert, tls_key=tls_key
        ),
        "session": _given(stt=stt, mode=mode, llm=llm),
        "limits": _given(calls=max_calls),
        "moshi": _given(
            hf_repo=hf_repo,
            config_path=config_path,
            moshi_weight=moshi_weight,
            mimi_weight=mimi_weight,
            tokenizer=tokenizer,
            lora_weight=lora_weight,
            device=device,
            dtype=dtype,
            kv=kv,
            max_slots=max_slots,
        ),
    }
    settings = load(config, flags)
    log_to_stderr(logging.INFO if verbose else logging.WARNING)

    from server import app, build, coturn

    settings, start = coturn.beside(build.start, settings) if with_turn else (settings, build.start)
    with messages().status("Loading the models…") as status:

        def started(url: str, choices: "Sequence[Choice]") -> None:
            status.stop()
            (print_json if as_json else print_summary)(url, choices)

        run_async(app.serve(settings, start, started))


def log_to_stderr(level: int) -> None:
    """Ours and others' log lines."""
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    # It logs every malformed request with its traceback; errors of ours are guard.py's to log.
    logging.getLogger("aiohttp.server").setLevel(logging.CRITICAL)
    for chatty in ("aioice", "aiortc", "httpx", "httpx2"):
        logging.getLogger(chatty).setLevel(logging.WARNING)


@command.command()
def talk(
    question: Annotated[
        Path, typer.Argument(exists=True, dir_okay=False, help="What to say: a sound file.")
    ],
    out: Annotated[Path, typer.Option(help="Where the answer's sound goes.")] = Path("answer.wav"),
    url: Annotated[str, typer.Option(help="The server.")] = "http://localhost:8998",
    bearer: Annotated[
        str | None, typer.Option(envvar="UMIGAME_BEARER", help="Where the server wants one.")
    ] = None,
    patience: Annotated[float, typer.Option(help="Seconds to wait for the answer.")] = 30.0,
    relay_only: Annotated[bool, typer.Option("--relay-only", help="Through TURN only.")] = False,
    as_json: Json = False,
) -> None:
    """Ask a running server a question from a sound file, over WebRTC."""
    from server.talk import talk as run

    with messages().status("Talking…"):
        talked = run_async(run(question, out, url, bearer, patience, relay_only))
    print_record(talked, as_json)


@command.command()
def replay(
    recording: Annotated[
        Path, typer.Argument(exists=True, dir_okay=False, help="An rtpdump file.")
    ],
    out: Annotated[Path | None, typer.Option(help="Where to write what was heard.")] = None,
    loss: Annotated[float, typer.Option(min=0, max=1, help="Share of packets to lose.")] = 0.0,
    jitter_ms: Annotated[float, typer.Option(min=0, help="Most that packets are delayed.")] = 0.0,
    seed: Annotated[int, typer.Option(help="Of that bad network.")] = 1,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Run recorded RTP through the real graph and print what is heard; faster than real time."""
    from pipeline.audio.impair import impaired
    from pipeline.audio.rtpdump import read_rtpdump
    from server import replay as graph
    from server.rtc.wav import write_wav
    from server.stand_ins import RATE_HZ
    from server.weights import Weights

    settings = load(config)
    weights = Weights(settings.server.cache)
    weights.fetch(["vad"])
    packets = impaired(read_rtpdump(recording), seed, loss, jitter_ms / 1000)
    with messages().status("Listening…"):
        replayed, sound = graph.replay(packets, weights.path("vad"), settings.hearing)
    if out is not None:
        write_wav(out, sound, RATE_HZ)
    if as_json:
        print_record(replayed, as_json)
    else:
        Console().print(graph.table(replayed.timeline))
        print_record(replayed.media, as_json)


def _given(**flags: Any) -> dict[str, Any]:
    return {name: value for name, value in flags.items() if value is not None}


def print_summary(url: str, choices: "Sequence[Choice]") -> None:
    """What was chosen and why, and where to go."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for choice in choices:
        table.add_row(Text(choice.part, "bold"), Text(choice.name, "cyan"))
        table.add_row("", Text(choice.why, "dim"))
    console = Console()
    console.print(table)
    console.print(Text.assemble("Talk to it at ", (url, "bold underline"), ", end with Ctrl-C."))


def print_json(url: str, choices: "Sequence[Choice]") -> None:
    """The same on one line."""
    typer.echo(json.dumps({"url": url, "choices": [asdict(each) for each in choices]}))


INTERRUPTED = 130
"""Exit status after Ctrl-C, as shells have it."""


def main() -> None:
    """Run the command line. What we raise on purpose becomes a line or two, not a traceback."""
    try:
        command()
    except UmigameError as error:
        status = report(error)
    except KeyboardInterrupt:
        status = INTERRUPTED
    except BaseExceptionGroup as group:
        ours, others = group.split((UmigameError, KeyboardInterrupt))
        if ours is None or others is not None:
            raise
        first = first_of(ours)
        status = report(first) if isinstance(first, UmigameError) else INTERRUPTED
    else:
        return
    sys.exit(status)


def first_of(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """A TaskGroup wraps what its tasks raise, sometimes more than once."""
    error = group.exceptions[0]
    return first_of(error) if isinstance(error, BaseExceptionGroup) else error


def report(error: UmigameError) -> int:
    """Tell a person; gives the exit status: 2 if it is theirs to mend, else 1."""
    console = Console(stderr=True)
    console.print(Text.assemble(("umigame: ", "bold red"), error.message), soft_wrap=True)
    if error.hint:
        console.print(Text(error.hint), soft_wrap=True)
    return 2 if isinstance(error, ConfigError) else 1
