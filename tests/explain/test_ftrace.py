# SPDX-License-Identifier: GPL-2.0-only
"""Raw pages of the kernel's ring buffer are decoded; damaged ones never do harm."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtscope.explain.encode import FORMATS, Event, pages_of
from rtscope.explain.ftrace import Events, Layout, Pages
from rtscope.model.errors import RtscopeError

LAYOUTS = [Layout(4096, 8), Layout(4096, 4, little_endian=False), Layout(1024, 8)]

EVENTS = st.lists(
    st.tuples(
        st.integers(0, 1 << 40),
        st.sampled_from(["softirq_entry", "cpu_idle", "irq_handler_entry", "sched_waking"]),
        st.integers(0, 4_000_000),
    ),
    max_size=200,
)


def event(time_ns: int, name: str, value: int) -> Event:
    field = {"softirq_entry": "vec", "cpu_idle": "state", "irq_handler_entry": "irq"}.get(
        name, "pid"
    )
    text: dict[str, int | str] = {}
    if name == "irq_handler_entry":
        text = {"name": f"eth{value % 1000}" * (1 + value % 40)}
    return Event(time_ns, name, value % 1000, {field: value, **text})


@given(EVENTS, st.sampled_from(LAYOUTS))
def test_every_event_comes_back_with_its_time_cpu_task_and_fields(
    gaps: list[tuple[int, str, int]], layout: Layout
) -> None:
    time_ns, written = 10**12, []
    for gap, name, value in gaps:
        time_ns += gap
        written.append(event(time_ns, name, value))
    read = Events([pages_of(3, written, layout), pages_of(5, [], layout)], layout, FORMATS)

    assert read.time_ns.tolist() == [one.time_ns for one in written]
    assert set(read.cpu.tolist()) <= {3}
    for index, one in enumerate(written):
        assert (read.name(index), read.number(index, "common_pid")) == (one.name, one.tid)
        for field, wanted in one.fields.items():
            if isinstance(wanted, str):
                assert wanted.startswith(read.text(index, field))
                assert read.text(index, field)
            else:
                assert read.number(index, field) == wanted


@given(st.binary(max_size=300), st.integers(0, 4095), st.sampled_from(LAYOUTS))
def test_damaged_pages_give_events_or_a_sentence(damage: bytes, at: int, layout: Layout) -> None:
    written = [event(10**12 + 1000 * n, "sched_waking", n) for n in range(60)]
    whole = pages_of(0, written, layout).data
    damaged = whole[: at % len(whole)] + damage
    try:
        read = Events([Pages(0, damaged.ljust(len(whole), b"\x55")[: len(whole)])], layout, FORMATS)
    except RtscopeError:
        return
    for index in range(len(read.time_ns)):
        read.text(index, "comm")
        read.number(index, "pid")
    with pytest.raises(RtscopeError, match="cut within a page"):
        Events([Pages(0, whole[:-1])], layout, FORMATS)
