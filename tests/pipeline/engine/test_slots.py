import pytest

from pipeline.engine.slots import SlotTable
from pipeline.errors import EngineFull


def test_one_caller_too_many_is_told_that_all_slots_are_taken() -> None:
    table = SlotTable(2)
    first = table.take()
    table.take()
    with pytest.raises(EngineFull, match="all 2 slots are taken"):
        table.take()
    table.release(first)
    assert table.take().index == first.index


def test_a_stale_holder_cannot_throw_out_the_next_caller() -> None:
    table = SlotTable(1)
    stale = table.take()
    assert table.release(stale)
    caller = table.take()
    assert not table.release(stale)
    assert table.holds(caller)
    assert not table.holds(stale)
