"""The engine bench as users start it, with a tiny model on the CPU."""

import json
import subprocess
import sys

import pytest

pytest.importorskip("torch")
pytest.importorskip("moshi")


def test_a_row_for_each_number_of_callers_and_each_fill_beside_upstreams_own_loop() -> None:
    asked = ["--front-end", "moshi", "--random-weights", "--size", "tiny", "--device", "cpu"]
    rows = ["--slots", "2", "--fill", "0.25,1.0", "--seconds", "1", "--json"]
    command = [sys.executable, "-m", "server", "bench", "engine", *asked, *rows]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    report = json.loads(ended.stdout)
    assert report["bare"]["step_ms"]["p50"] > 0
    assert [(row["slots"], row["fill"], row["kv"]) for row in report["rows"]] == [
        (2, 0.25, "int8"),
        (2, 1.0, "int8"),
    ]
    for row in report["rows"]:
        assert row["frames"] > 10
        assert 0 < row["step_ms"]["p50"] <= row["step_ms"]["p99"]
        assert row["frame_latency_ms"]["p50"] > 0
        assert 0 <= row["late_rate"] <= 1
        assert row["memory_gib"] > 0
