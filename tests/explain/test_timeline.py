# SPDX-License-Identifier: GPL-2.0-only
"""A late answer is told whole: who ran, what was off, which function called which."""

import msgspec
import pytest

from rtscope.explain.recording import HALTS, READS_CLOCK, read_recordings
from rtscope.explain.symbols import USER_SPACE, Symbols
from rtscope.explain.timeline import ASLEEP, BEFORE, Late, explanation
from rtscope.model.timeline import Call, Explanation, FunctionTime, Stretch
from tests.explain.seen import IDLE, MAGIC, MINE, OTHER, SYMBOLS, Block, recorded

STACK = 0xFFFFC90000013F00
IDLE_STACK = 0xFFFFC90000203F00

AWAKE = [
    Block("timer_interrupt", 100, 0, IDLE, IDLE_STACK - 0x100, off=True, preempt=0x10000),
    Block("run_timers", 30, 0, IDLE, IDLE_STACK - 0x140, off=True, preempt=0x10000),
    Block("slow_driver", 700, 0, IDLE, IDLE_STACK - 0x180, off=True, preempt=0x10000),
    Block("run_timers", 20, 8, IDLE, IDLE_STACK - 0x150, off=True, preempt=0x10000),
    Block("timer_interrupt", 50, 8, IDLE, IDLE_STACK - 0x110, off=True),
    Block("schedule", 60, 0, IDLE, IDLE_STACK - 0x100, off=True, preempt=1),
    Block("schedule", 25, 64, MINE, STACK - 0x80, off=True, preempt=1),
    Block("exit_to_user", 5, 0, MINE, STACK - 0x40),
    Block("user", 10, 0, MINE, 0x7FFF0000, flags=READS_CLOCK),
    Block("user", 80, 32, MINE, 0x7FFF0000),
]
ASLEEP_BEFORE = [Block("idle_loop", 40, 0, IDLE, IDLE_STACK, flags=HALTS), *AWAKE]


def told(
    blocks: list[Block], latency_ns: int, *, shift: int = 0, known: bool = True
) -> Explanation:
    seen = read_recordings(MAGIC + recorded(1, blocks, known))[1]
    late = Late(0, 5000, latency_ns, "cyclic/0", 118, 116)
    return explanation(late, seen, Symbols(SYMBOLS), 1 << shift)


def test_the_pieces_add_up_to_the_latency_with_the_time_before_the_timer_came() -> None:
    for shift in (0, 3):
        one = told(ASLEEP_BEFORE, (1000 << shift) + 17, shift=shift)
        outer = [call for call in one.calls if not call.depth]

        assert sum(function.ns for function in one.functions) == one.latency_ns
        assert sum(call.ns for call in outer) == one.latency_ns
        assert one.calls[0] == Call(0, 17, 0, ASLEEP)
        assert one.functions[0].function == "slow_driver [driver]"
        assert one.functions[0].ns == 700 << shift
        assert one.notes == []


def test_calls_lie_within_those_that_called_them() -> None:
    one = told(ASLEEP_BEFORE, 1017)

    assert [(call.function, call.start_ns, call.ns, call.depth) for call in one.calls] == [
        (ASLEEP, 0, 17, 0),
        ("timer_interrupt", 17, 900, 0),
        ("run_timers", 117, 750, 1),
        ("slow_driver [driver]", 147, 700, 2),
        ("schedule", 917, 60, 0),
        ("schedule", 977, 25, 0),
        ("exit_to_user", 1002, 5, 0),
        (USER_SPACE, 1007, 10, 0),
    ]
    assert [call.function for call in one.cause] == [
        "timer_interrupt",
        "run_timers",
        "slow_driver [driver]",
    ]


def test_who_ran_and_what_was_off_is_reported() -> None:
    one = told(ASLEEP_BEFORE, 1017)

    assert one.tasks == [Stretch(0, 977, "swapper/0"), Stretch(977, 40, "cyclic/0/118")]
    assert one.interrupts_off == [Stretch(17, 985)]
    assert one.preemption_off == [Stretch(17, 850), Stretch(917, 85)]


def test_a_cpu_that_was_busy_at_the_deadline_is_reported_from_there() -> None:
    busy = [Block("slow_driver", 500, 16, OTHER, STACK - 0x4000 - 0x200), *AWAKE]
    one = told(busy, 1300)

    assert one.calls[0] == Call(0, 300, 0, "slow_driver [driver]")
    assert one.tasks is not None
    assert one.tasks[0] == Stretch(0, 300, "cryptomgr_test/31")
    assert sum(function.ns for function in one.functions) == 1300


def test_what_the_ring_no_longer_held_is_said_to_be_missing() -> None:
    one = told(AWAKE, 50_000)

    assert one.calls[0] == Call(0, 49_000, 0, BEFORE)
    assert sum(function.ns for function in one.functions) == 50_000


def test_a_second_sleep_is_not_taken_for_work() -> None:
    twice = [*ASLEEP_BEFORE[:3], ASLEEP_BEFORE[0], *AWAKE]
    one = told(twice, 9000)

    assert one.calls[0] == Call(0, 8000, 0, ASLEEP)
    assert [note for note in one.notes if "slept more than once" in note]


def test_what_an_emulator_cannot_tell_is_said_in_words() -> None:
    one = told(ASLEEP_BEFORE, 1017, known=False)

    assert (one.tasks, one.interrupts_off, one.preemption_off) == (None, None, None)
    assert [note.split(" is unknown")[0] for note in one.notes] == [
        "the running task",
        "where interrupts were off",
        "where preemption was off",
    ]
    assert one.functions[0].function == "slow_driver [driver]"


def test_a_clock_that_was_read_unseen_is_said_to_be() -> None:
    blind = [block._replace(flags=block.flags & ~READS_CLOCK) for block in ASLEEP_BEFORE]
    one = told(blind, 1017)

    assert [note for note in one.notes if "does not contain the instruction" in note]
    assert sum(function.ns for function in one.functions) == 1017


def test_a_task_that_comes_back_goes_on_where_it_was() -> None:
    one = told(
        [
            Block("run_timers", 100, 0, OTHER, STACK - 0x4100),
            Block("slow_driver", 100, 0, OTHER, STACK - 0x4140),
            Block("schedule", 100, 0, MINE, STACK - 0x40),
            Block("slow_driver", 100, 16, OTHER, STACK - 0x4150),
            Block("run_timers", 100, 16, OTHER, STACK - 0x4110),
            Block("user", 10, 0, MINE, 0x7FFF0000, flags=READS_CLOCK),
        ],
        510,
    )

    assert [(call.function, call.start_ns, call.ns, call.depth) for call in one.calls] == [
        ("run_timers", 0, 200, 0),
        ("slow_driver [driver]", 100, 100, 1),
        ("schedule", 200, 100, 0),
        ("run_timers", 300, 200, 0),
        ("slow_driver [driver]", 300, 100, 1),
        (USER_SPACE, 500, 10, 0),
    ]


def test_a_delay_and_what_interrupts_it_belong_to_the_module_that_waits() -> None:
    """The delay began before the deadline: who called it shows when it returns."""
    deep, stack = STACK - 0x4200, STACK - 0x4100
    one = told(
        [
            Block("delay_tsc", 200, 8, OTHER, deep, off=True),
            Block("timer_interrupt", 50, 0, OTHER, deep - 0x80, off=True),
            Block("run_timers", 41, 0, OTHER, deep - 0xC0, off=True),
            Block("timer_interrupt", 50, 8, OTHER, deep - 0x90, off=True),
            Block("delay_tsc", 600, 8, OTHER, deep, off=True),
            Block("__const_udelay", 9, 16, OTHER, deep + 0x20, off=True),
            Block("slow_driver", 50, 32, OTHER, stack, off=True),
            *AWAKE[-3:-1],
        ],
        1015,
    )

    assert [(call.function, call.start_ns, call.ns, call.depth) for call in one.calls] == [
        ("slow_driver [driver]", 0, 1000, 0),
        ("__const_udelay", 0, 950, 1),
        ("delay_tsc", 0, 941, 2),
        ("timer_interrupt", 200, 141, 3),
        ("run_timers", 250, 41, 4),
        ("exit_to_user", 1000, 5, 0),
        (USER_SPACE, 1005, 10, 0),
    ]
    assert one.cause == [Call(0, 1000, 0, "slow_driver [driver]")]
    assert one.functions[0] == FunctionTime("slow_driver [driver]", 859)
    assert sum(function.ns for function in one.functions) == one.latency_ns


def test_a_handler_that_moves_to_the_interrupt_stack_stays_within_what_it_interrupted() -> None:
    """The interrupt stack lies above the task's; the handler calls a function there and goes on."""
    stack, interrupt_stack = STACK - 0x4100, STACK + 0x40000
    one = told(
        [
            Block("slow_driver", 800, 16, OTHER, stack, off=True),
            Block("timer_interrupt", 50, 0, OTHER, stack - 0x80, off=True),
            Block("run_timers", 41, 0, OTHER, interrupt_stack - 8, off=True),
            Block("timer_interrupt", 50, 8, OTHER, interrupt_stack, off=True),
            Block("run_timers", 40, 0, OTHER, interrupt_stack - 8, off=True),
            Block("timer_interrupt", 19, 16, OTHER, stack - 0x80, off=True),
            *AWAKE[-3:-1],
        ],
        1015,
    )

    assert [(call.function, call.ns, call.depth) for call in one.calls][:4] == [
        ("slow_driver [driver]", 1000, 0),
        ("timer_interrupt", 200, 1),
        ("run_timers", 41, 2),
        ("run_timers", 40, 2),
    ]
    assert one.cause == [Call(0, 1000, 0, "slow_driver [driver]")]


def test_the_pieces_of_a_call_count_together() -> None:
    """No piece of the driver's call is as long as the other task's only one."""
    driver = Block("slow_driver", 350, 16, OTHER, STACK - 0x4100)
    other = Block("run_timers", 200, 16, IDLE, IDLE_STACK)
    one = told([driver, other, driver, other, driver, *AWAKE[-3:-1]], 1465)

    assert one.cause == [Call(0, 1050, 0, "slow_driver [driver]")]
    assert [call.ns for call in one.calls if "driver" in call.function] == [350, 350, 350]


@pytest.mark.parametrize("rounds", [3000])
def test_a_long_story_is_kept_within_bounds_and_its_totals_whole(rounds: int) -> None:
    loop = [
        Block("run_timers", 10, 0, OTHER, STACK - 0x4100),
        Block("slow_driver", 90, 0, OTHER, STACK - 0x4140),
    ] * rounds
    one = told([*loop, *AWAKE[-2:]], 100 * rounds + 10)

    assert len(one.calls) == 400
    assert one.cause == []
    assert sum(function.ns for function in one.functions) == 100 * rounds + 10
    assert len(msgspec.json.encode(one)) < 60_000
