"""What Prometheus sees. The one importer of its client; nothing here is global."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from itertools import accumulate

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from pipeline.clock import Clock, now
from pipeline.engine.face import EngineLoad
from pipeline.engine.histogram import BOUNDS_S, Times
from pipeline.events import (
    Event,
    Latency,
    OracleAsked,
    OracleFate,
    OracleSpent,
    OracleText,
    Overload,
    ReplyEnded,
    ReplyStarted,
    ReplyWord,
    ServiceState,
)
from pipeline.probe import Probe
from server.admission import Admission, State

CONTENT_TYPE = CONTENT_TYPE_LATEST

LAG_EVERY_S = 0.1
"""Between two samples of the loop's lag."""

_STAGE_S = (1e-5, 5e-5, 1e-4, 5e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.5)
_NETWORK_S = (0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0)
_ANSWER_S = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9, 1.2, 1.6, 2.5, 5.0, 10.0)
_SHARE = (0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)


class Metrics:
    """All metrics of one server. Calling it gives a stage its probe."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._stage = self._histogram("stage_seconds", "Work of a stage", _STAGE_S, "stage")
        self.loop_lag = self._histogram("loop_lag_seconds", "Late wake-ups", _STAGE_S)
        self.tasks = Gauge("umigame_tasks", "Of the event loop", registry=self.registry)
        # Once a second from each call: quantiles over these are over calls and time.
        self.rtt = self._histogram("rtt_seconds", "Round trip to a peer, sampled", _NETWORK_S)
        self.jitter = self._histogram(
            "packet_lateness_p95_seconds", "A call's p95 over 5 s, sampled", _NETWORK_S
        )
        self.frame = self._histogram(
            "frame_latency_p50_seconds",
            "From a packet in to its answer, over 2 s, sampled",
            _NETWORK_S,
        )
        self.concealed = self._histogram(
            "concealed_ratio", "Share of a second's audio that was invented", _SHARE
        )
        self.response = self._histogram("response_seconds", "From speech to reply", _ANSWER_S)
        self.ttft = self._histogram(
            "llm_first_token_seconds", "From request to first text", _ANSWER_S, "source"
        )
        self.oracle_lead = self._histogram(
            "oracle_lead_seconds", "First text came this long before its reply", _ANSWER_S
        )
        self.oracle_lag = self._histogram(
            "oracle_lag_seconds", "First text came this long after its reply began", _ANSWER_S
        )
        self.late = self._counter("late_frames", "Frames dropped to keep up", "where")
        self.oracle_words = self._counter("oracle_words", "What became of them", "fate")
        self.llm_tokens = self._counter("llm_tokens", "Spent, used or not", "source", "kind")
        self.replies = self._counter("replies", "Spoken replies", "cut")
        self.service_up = Gauge(
            "umigame_service_up", "Back-ends, as last seen", ["service"], registry=self.registry
        )

    def __call__(self, stage: str) -> Probe:
        return _StageProbe(self._stage.labels(stage))

    def watch(self, admission: Admission, load: Callable[[], EngineLoad]) -> None:
        """Read these two whenever Prometheus asks."""
        self.registry.register(_Occupancy(admission, load))

    def render(self) -> bytes:
        """The exposition text, of type CONTENT_TYPE."""
        return generate_latest(self.registry)

    def _histogram(
        self, name: str, about: str, buckets: tuple[float, ...], *labels: str
    ) -> Histogram:
        return Histogram(f"umigame_{name}", about, labels, buckets=buckets, registry=self.registry)

    def _counter(self, name: str, about: str, *labels: str) -> Counter:
        return Counter(f"umigame_{name}", about, labels, registry=self.registry)


class CallMeter:
    """Counts the events of one conversation."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._epoch = 0
        self._asked_s = 0.0
        self._first_text_s: float | None = None
        self._reply_s = 0.0
        self._measured_epoch = 0

    def see(self, event: Event, now: float) -> None:
        """`event` has just happened; `now` in seconds."""
        m = self._metrics
        match event:
            case OracleAsked() | OracleText() | ReplyStarted() | ReplyWord():
                self._time_answer(event, now)
            case Latency():
                self._network(event)
            case ReplyEnded(cut=cut):
                m.replies.labels("yes" if cut else "no").inc()
            case OracleFate(fate=fate, words=words):
                m.oracle_words.labels(fate.value).inc(words)
            case OracleSpent(source=source, prompt_tokens=asked, answer_tokens=said):
                m.llm_tokens.labels(source, "prompt").inc(asked)
                m.llm_tokens.labels(source, "answer").inc(said)
            case Overload(where=where, frames=frames):
                m.late.labels(where).inc(frames)
            case ServiceState(service=service, up=up):
                m.service_up.labels(service).set(up)

    def _time_answer(
        self, event: OracleAsked | OracleText | ReplyStarted | ReplyWord, now: float
    ) -> None:
        m = self._metrics
        match event:
            case OracleAsked(epoch=epoch):
                self._epoch, self._asked_s, self._first_text_s = epoch, now, None
            case OracleText(epoch=self._epoch, source=source) if self._first_text_s is None:
                self._first_text_s = now
                m.ttft.labels(source).observe(now - self._asked_s)
            case ReplyStarted(response_s=response_s):
                self._reply_s = now
                if response_s is not None:
                    m.response.observe(response_s)
            case ReplyWord(epoch=self._epoch):
                self._lead()

    def _network(self, latency: Latency) -> None:
        m = self._metrics
        if latency.rtt_s is not None:
            m.rtt.observe(latency.rtt_s)
        m.jitter.observe(latency.jitter_s)
        m.frame.observe(latency.server_s)
        m.concealed.observe(latency.concealed)

    def _lead(self) -> None:
        """At an epoch's first spoken word: had its text come before the reply began, or after?"""
        if self._first_text_s is None or self._measured_epoch == self._epoch:
            return
        self._measured_epoch = self._epoch
        lead_s = self._reply_s - self._first_text_s
        if lead_s >= 0:
            self._metrics.oracle_lead.observe(lead_s)
        else:
            self._metrics.oracle_lag.observe(-lead_s)


class _StageProbe:
    def __init__(self, histogram: Histogram) -> None:
        self._histogram = histogram

    def span(self) -> AbstractContextManager[None]:
        return self._histogram.time()


class _Occupancy(Collector):
    """Calls and engine, read when asked."""

    def __init__(self, admission: Admission, load: Callable[[], EngineLoad]) -> None:
        self._admission = admission
        self._load = load

    def collect(self) -> Iterator[Metric]:
        calls = GaugeMetricFamily("umigame_calls", "Calls by state", labels=["state"])
        for state in State:
            calls.add_metric([state.value], self._admission.count(state))
        yield calls
        load = self._load()
        yield GaugeMetricFamily("umigame_engine_slots", "Slots taken", load.live)
        yield GaugeMetricFamily("umigame_engine_step_p95_seconds", "Of a step", load.step_p95_s)
        yield _histogram("umigame_engine_step_seconds", "Of a step", load.steps)
        yield _histogram(
            "umigame_engine_frame_seconds", "From a frame's coming in to its output", load.latencies
        )
        yield CounterMetricFamily("umigame_engine_shed_frames", "Dropped by it", load.shed)
        yield CounterMetricFamily(
            "umigame_engine_late_frames", "That took longer than they last", load.late
        )
        yield GaugeMetricFamily(
            "umigame_engine_standing_frames", "That wait behind another", load.standing
        )
        yield CounterMetricFamily("umigame_engine_restarts", "After it died", load.restarts)


def _histogram(name: str, about: str, times: Times) -> Metric:
    bounds = [*(str(bound) for bound in BOUNDS_S), "+Inf"]
    upto = list(zip(bounds, accumulate(times.counts), strict=True))
    return HistogramMetricFamily(name, about, buckets=upto, sum_value=times.sum_s)


async def sample_loop(metrics: Metrics, clock: Clock = now) -> None:
    """Forever: how late does the event loop wake a sleeper, and how many tasks has it?"""
    while True:
        due_s = clock() + LAG_EVERY_S
        await asyncio.sleep(LAG_EVERY_S)
        metrics.loop_lag.observe(max(0.0, clock() - due_s))
        metrics.tasks.set(len(asyncio.all_tasks()))
