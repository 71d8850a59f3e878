import pytest

from pipeline.engine.face import EngineLoad
from pipeline.engine.histogram import Histogram
from pipeline.events import (
    Latency,
    OracleAsked,
    OracleText,
    Overload,
    ReplyEnded,
    ReplyStarted,
    ReplyWord,
)
from server.admission import Admission
from server.metrics import CallMeter, Metrics, sample_loop


def read(metrics: Metrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(f"umigame_{name}", labels)


def test_the_wait_for_a_models_first_text_is_told_by_model() -> None:
    metrics = Metrics()
    meter = CallMeter(metrics)
    meter.see(OracleAsked(1, 1, "why", "small"), 10.0)
    meter.see(OracleText(1, "Be", False, "small"), 10.4)
    meter.see(OracleText(1, "cause", False, "small"), 11.0)
    assert read(metrics, "llm_first_token_seconds_count", source="small") == 1
    assert read(metrics, "llm_first_token_seconds_sum", source="small") == pytest.approx(0.4)


def test_text_of_a_superseded_question_is_not_timed() -> None:
    metrics = Metrics()
    meter = CallMeter(metrics)
    meter.see(OracleAsked(1, 1, "why", "small"), 10.0)
    meter.see(OracleAsked(2, 1, "why not", "small"), 10.2)
    meter.see(OracleText(1, "Be", False, "small"), 10.4)
    assert read(metrics, "llm_first_token_seconds_count", source="small") is None


@pytest.mark.parametrize(("reply_s", "kind", "seconds"), [(10.9, "lead", 0.5), (10.1, "lag", 0.3)])
def test_an_oracle_leads_or_lags_its_reply(reply_s: float, kind: str, seconds: float) -> None:
    metrics = Metrics()
    meter = CallMeter(metrics)
    events = [
        (OracleAsked(1, 1, "why", "small"), 10.0),
        (OracleText(1, "Because", False, "small"), 10.4),
        (ReplyStarted(1, 1, 0.2), reply_s),
    ]
    for event, at_s in sorted(events, key=lambda each: each[1]):
        meter.see(event, at_s)
    meter.see(ReplyWord(1, "Because", 1), 11.0)
    meter.see(ReplyWord(1, " so", 1), 11.2)
    assert read(metrics, f"oracle_{kind}_seconds_sum") == pytest.approx(seconds)
    counts = [read(metrics, f"oracle_{each}_seconds_count") for each in ("lead", "lag")]
    assert sum(count or 0 for count in counts) == 1
    assert read(metrics, "response_seconds_sum") == pytest.approx(0.2)


def test_drops_and_cut_replies_are_counted() -> None:
    metrics = Metrics()
    meter = CallMeter(metrics)
    meter.see(Overload("playout", 3), 1)
    meter.see(ReplyEnded(1, "Be", True, 0.1), 2)
    assert read(metrics, "late_frames_total", where="playout") == 3
    assert read(metrics, "replies_total", cut="yes") == 1


def test_the_path_of_a_call_is_told_by_names_that_say_what_was_sampled() -> None:
    metrics = Metrics()
    CallMeter(metrics).see(Latency(None, jitter_s=0.03, server_s=0.002, concealed=0.1), 1)
    assert read(metrics, "packet_lateness_p95_seconds_sum") == pytest.approx(0.03)
    assert read(metrics, "frame_latency_p50_seconds_sum") == pytest.approx(0.002)
    assert read(metrics, "concealed_ratio_sum") == pytest.approx(0.1)
    assert read(metrics, "rtt_seconds_count") == 0, "not known is not zero"


def test_a_stages_work_is_timed_under_its_name() -> None:
    metrics = Metrics()
    with metrics("decode").span():
        pass
    assert read(metrics, "stage_seconds_count", stage="decode") == 1


async def test_a_loop_held_up_shows_as_lag() -> None:
    metrics = Metrics()
    asked = iter([0.0, 0.1, 1.0, 1.35])  # before and after each nap; the second is 250 ms late
    with pytest.raises(RuntimeError, match="StopIteration"):
        await sample_loop(metrics, lambda: next(asked))
    assert read(metrics, "loop_lag_seconds_count") == 2
    assert read(metrics, "loop_lag_seconds_sum") == pytest.approx(0.25)


def test_the_engine_tells_how_long_steps_and_frames_took_wherever_it_runs() -> None:
    metrics, steps, frames = Metrics(), Histogram(), Histogram()
    for took_s in (0.045, 0.061, 2.0):
        steps.add(took_s)
        frames.add(took_s + 0.01)
    load = EngineLoad(3, 0.06, 2, True, steps.times, frames.times, late=1, standing=4, restarts=5)
    metrics.watch(Admission(1, 0), lambda: load)
    assert read(metrics, "engine_step_seconds_bucket", le="0.06") == 1
    assert read(metrics, "engine_step_seconds_bucket", le="+Inf") == 3
    assert read(metrics, "engine_step_seconds_sum") == pytest.approx(2.106)
    assert read(metrics, "engine_frame_seconds_bucket", le="0.08") == 2
    names = ("shed_frames_total", "late_frames_total", "standing_frames", "restarts_total")
    assert [read(metrics, f"engine_{name}") for name in names] == [2, 1, 4, 5]
    assert b"umigame_engine_step_seconds_count 3.0" in metrics.render()
