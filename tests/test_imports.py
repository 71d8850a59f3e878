"""Who may import whom, and how long a file may be: the architecture as a test."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = {
    "server": {"server", "pipeline", "turn"},
    "pipeline": {"pipeline"},
    "turn": {"turn"},
}
"""What of ours each package may import."""

LAYERS = (
    {"types", "errors", "events", "clock", "settings", "virtual_loop"},
    {"channel", "stage", "timed", "probe"},
    {"audio"},
    {"hearing", "engine", "stt", "llm", "oracle", "frontends"},
    {"mailbox", "replies", "report", "supervise"},
    {"conversation"},
    {"voice_path", "graph"},
    {"session"},
)
"""The pipeline, lowest first: each imports its own layer and those before it."""

HOMES = {
    "aiortc": ("server/rtc/", "server/bench/media/stock.py"),
    "aioice": "server/rtc/",
    "prometheus_client": "server/metrics.py",
    "os.environ": "server/settings.py",
    "os.getenv": "server/settings.py",
    "openai": "pipeline/llm/openai.py",
    "anthropic": "pipeline/llm/anthropic.py",
    "google": "pipeline/stt/google/",
    "grpc": "pipeline/stt/google/",
    "xllamacpp": "pipeline/llm/",
    "onnxruntime": ("pipeline/hearing/vad.py", "pipeline/frontends/voice/worker.py"),
    "moonshine_voice": "pipeline/stt/",
    "piper": "pipeline/frontends/voice/worker.py",
    "torch": "pipeline/frontends/moshi/",
    "triton": "pipeline/frontends/moshi/kernels.py",
    "moshi": "pipeline/frontends/moshi/",
    "sentencepiece": "pipeline/frontends/moshi/",
    "safetensors": "pipeline/frontends/moshi/",
    "huggingface_hub": "pipeline/frontends/moshi/",
}
"""The one place, or two, that may touch each of these."""

MOST_LINES = 300


def sources(*folders: str) -> list[str]:
    return [str(p.relative_to(ROOT)) for f in folders for p in sorted((ROOT / f).rglob("*.py"))]


def uses(source: str) -> Iterator[str]:
    """Dotted names of all that a file imports, wherever in it, and of what it takes from os."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=module, names=names):
                yield from (f"{'.' * node.level}{module or ''}.{alias.name}" for alias in names)
            case ast.Attribute(value=ast.Name(id="os"), attr=attr):
                yield f"os.{attr}"
            case ast.Call(
                func=ast.Attribute(attr="import_module"), args=[ast.Constant(value=str(name)), *_]
            ):
                yield name


def layer_of(module: str) -> int:
    """Of a dotted name within the pipeline; the package itself is below all."""
    part = module.split(".")[1:2]
    return next((i for i, names in enumerate(LAYERS) if names & set(part)), -1)


@pytest.mark.parametrize("path", sources(*PACKAGES))
def test_a_file_imports_only_what_its_place_allows(path: str) -> None:
    package = Path(path).parts[0]
    own_layer = layer_of(path.removesuffix(".py").replace("/", "."))
    for name in uses((ROOT / path).read_text()):
        top = name.split(".")[0]
        assert top not in PACKAGES or top in PACKAGES[package], f"{package} imports {name}"
        assert top, f"relative import {name}: write it out"
        if package == top == "pipeline":
            assert layer_of(name) <= own_layer, f"{name} is of a higher layer"
        for what, home in HOMES.items():
            if f"{name}.".startswith(f"{what}."):
                assert path.startswith(home), f"{what} belongs in {home}"


def test_every_part_of_the_pipeline_has_a_layer() -> None:
    parts = {path.stem for path in (ROOT / "pipeline").iterdir() if path.suffix in ("", ".py")}
    assert parts - {"__init__", "__pycache__"} == set().union(*LAYERS)


@pytest.mark.parametrize("path", sources(*PACKAGES, "tests"))
def test_no_file_is_too_long_to_read(path: str) -> None:
    assert len((ROOT / path).read_text().splitlines()) <= MOST_LINES


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("import torch.nn", "torch.nn"),
        ("def f():\n    from pipeline import graph", "pipeline.graph"),
        ("from . import seam", "..seam"),
        ("import os\nos.environ['X']", "os.environ"),
        ("from os import getenv", "os.getenv"),
        ("import importlib\nimportlib.import_module('piper')", "piper"),
    ],
)
def test_no_way_of_importing_goes_unseen(source: str, name: str) -> None:
    assert name in uses(source)
