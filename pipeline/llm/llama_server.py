"""The child process that is the local LLM: `python -m pipeline.llm.llama_server`.

It is llama.cpp's own OpenAI-compatible server. One line of JSON on stdin configures it (so the
key is in no argument list), one on stdout tells its port, and it ends when stdin does: whatever
becomes of the parent, it is not left behind. This is the only importer of xllamacpp.
"""

import json
import os
import sys
from dataclasses import asdict, dataclass
from typing import Any

NICENESS = 10
"""An answer can wait for the STT, which works for a tenth of a second at a time; while both want
the same two cores a decode takes three times as long, and with it the turn's end."""


@dataclass(frozen=True, slots=True)
class LlamaConfig:
    model: str
    """Path of the GGUF file."""
    alias: str
    """Model name it answers to."""
    api_key: str
    slots: int
    """Requests served at once."""
    context: int
    """Tokens a slot can hold."""
    threads: int

    def line(self) -> str:
        return json.dumps(asdict(self)) + "\n"


def main() -> None:
    """Serve until stdin ends."""
    os.nice(NICENESS)
    config = LlamaConfig(**json.loads(sys.stdin.readline()))
    try:
        server = serve(config)
    except ImportError as error:
        return tell(error=str(error))
    tell(port=int(server.listening_address.rpartition(":")[2]))
    sys.stdin.read()


def tell(**what: object) -> None:
    """The one line that the parent waits for."""
    print(json.dumps(what), flush=True)  # noqa: T201


def serve(config: LlamaConfig) -> Any:
    """Load the model and listen on a free loopback port."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = config.model
    params.model_alias = {config.alias}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [config.api_key]
    params.n_parallel = config.slots
    params.n_ctx = config.context * config.slots
    params.cpuparams.n_threads = config.threads
    params.cpuparams_batch.n_threads = config.threads
    params.n_gpu_layers = 0
    params.fit_params = False
    params.ui = False
    params.verbosity = -1
    return xllamacpp.Server(params)


if __name__ == "__main__":
    main()
