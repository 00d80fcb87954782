# SPDX-License-Identifier: GPL-2.0-only
"""What is not quiet, from two readings of a system's files."""

from rtscope.farm.quiet import disturbances

BEFORE = {
    "throttling": "{}",
    "/proc/self/status": "Name:\trtscope-agent\nPid:\t50\n",
    "/proc/stat": "cpu  100 0 50 1000 10 0 0 0 0 0\ncpu0 1 2\n",
    "/proc/7/task/7/stat": "7 (make -j (8)) R" + " 1" * 10 + " 100 20" + " 1" * 40,
    "/proc/50/task/50/stat": "50 (rtscope-agent) R 49 50 50" + " 1" * 7 + " 2 3" + " 1" * 40,
    "/sys/class/thermal/thermal_zone0/temp": "45000\n",
    "/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq": "1000000\n",
    "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance\n",
}


STAT, MAKE = "/proc/stat", "/proc/7/task/7/stat"
TEMPERATURE = "/sys/class/thermal/thermal_zone0/temp"
CLOCK = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq"
GOVERNOR = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"
QUIET = BEFORE | {STAT: "cpu  105 0 55 1590 10 0 0 0 0 0\n"}


def test_a_system_whose_only_work_is_the_reading_is_quiet() -> None:
    assert not disturbances(BEFORE, QUIET)


def test_a_load_is_named() -> None:
    busy = {
        STAT: "cpu  400 0 50 1290 10 0 0 0 0 0\n",
        MAKE: "7 (make -j (8)) R" + " 1" * 10 + " 400 20" + " 1" * 40,
    }
    (found,) = disturbances(BEFORE, QUIET | busy)
    assert "49 %" in found
    assert "make -j (8)" in found


def test_another_agent_is_found_and_the_reader_is_not() -> None:
    ended = "/proc/9/task/9/stat"
    other = QUIET | {
        ended: "9 (rtscope-agent-b) Z" + " 1" * 10 + " 0 0" + " 1" * 40,
        "/proc/49/task/49/stat": "49 (rtscope-agent) S 1 50 50" + " 1" * 7 + " 0 0" + " 1" * 40,
        "/proc/60/task/61/stat": "61 (rtscope-agent-a) S 1 60 60" + " 1" * 7 + " 0 0" + " 1" * 40,
    }
    (found,) = disturbances(BEFORE, other)
    assert "thread 61" in found


def test_temperature_and_a_fixed_clock_have_to_settle() -> None:
    (warming,) = disturbances(BEFORE, QUIET | {TEMPERATURE: "49000\n"})
    assert "45 to 49" in warming
    (moving,) = disturbances(BEFORE, QUIET | {CLOCK: "800000\n"})
    assert "1000 to 800 MHz" in moving


def test_a_clock_that_follows_the_load_may_move() -> None:
    moving = {CLOCK: "800000\n", GOVERNOR: "schedutil\n"}
    assert not disturbances(BEFORE, QUIET | moving)


def test_files_of_a_hostile_board_are_not_trusted() -> None:
    hostile = dict.fromkeys(BEFORE, "\0(" * 1000)
    assert not disturbances(hostile, hostile)
    assert not disturbances(BEFORE, QUIET | {STAT: "cpu  1 2 3 4\n"})
