from pipeline.engine.core import EngineCore
from tests.fakes.front_ends import Echo


def test_one_more_conversation_fits_only_while_steps_leave_room_in_the_frame() -> None:
    core = EngineCore(Echo(slots=4))
    caller = core.admit()
    for _ in range(100):
        core.took(0.015, 0.0)
    assert core.load().fits
    for _ in range(100):
        core.took(0.019, 0.0)
    assert not core.load().fits
    core.dismiss(caller)
    assert core.load().fits


def test_a_full_engine_has_no_room_however_fast_it_is() -> None:
    core = EngineCore(Echo(slots=1))
    core.admit()
    assert not core.load().fits


def test_one_slow_step_at_the_beginning_keeps_nobody_waiting() -> None:
    core = EngineCore(Echo(slots=4))
    core.admit()
    core.took(0.5, 0.0)
    assert core.load().fits
    for _ in range(100):
        core.took(0.001, 0.0)
    assert core.load().fits
