# SPDX-License-Identifier: GPL-2.0-only
"""What a probe cannot measure is refused in one sentence before it starts."""

import os
import shlex

import pytest

from tests.agent.probing import LAST_CPU, refusal


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (f"async --place other -a {LAST_CPU}", "two CPUs"),
        ("async --policy deadline", "SCHED_DEADLINE"),
        ("cyclic -a 4000", "4000"),
        ("cyclic --load nonsense", "nonsense"),
        ("cyclic -t4", "--cpus 0-(N-1)"),
        ("cyclic --histogram=400", "keeps a histogram"),
        ("daq --dry-run --samples-per-channel 1000", "a multiple of 512"),
        ("daq --dry-run --channels 64 --samples-per-channel 32768", "at most 2097152"),
        ("daq --dry-run --interval 99us", "100us to 10s"),
        ("daq --dry-run --policy deadline", "use fifo or other"),
        ("event --data 1389us", "shorter than half of --interval"),
        ("event --interval 99us", "at least 100 us"),
        ("event --policy deadline", "SCHED_DEADLINE"),
        ("exec", "there is no command to be measured"),
        ("exec -i 100 -- true", "--interval does not apply to exec"),
        ("exec --policy deadline -- true", "SCHED_DEADLINE does not allow"),
        ("exec --load-cpus 1023 -- true", "--load-cpus: CPU 1023 cannot be measured"),
        ("gtod --clock CLOCK_NONE", "--clock 'CLOCK_NONE' is not one of gettimeofday, CLOCK_"),
        ("gtod -i 1ms", "--interval does not apply to gtod"),
        ("gtod --policy deadline", "SCHED_DEADLINE does not grant"),
        ("loop --in kernel --method timerfd", "timer, relative, absolute, deadline or all"),
        ("loop --in kernel -i 50us --work 0", "not from 100us to 1s"),
        ("loop --in kernel --work 8.1ms", "more than 80 % of the --interval"),
        ("loop --in kernel --slack 11ms", "--slack 11000000 ns is longer"),
        ("loop --slack 1us", "a program's loops have none"),
        ("loop --work 10ms", "leaves nothing"),
        ("loop --low 12ms --high 11ms", "no period could be in range"),
        ("loop --policy deadline", "use fifo or other"),
        ("loop -a 0 --observer 0", "the CPU of the loop itself"),
        ("loop --observer 900", "not a CPU that this process may use"),
        ("loop --observer x", "CPU's number or self"),
        ("loop -i 1s", "too short"),
        ("memory -i 1ms", "--interval does not apply to memory"),
        ("memory --policy deadline", "SCHED_DEADLINE does not grant"),
        ("memory --largest 1048576", "more than a quarter of the free memory"),
        ("migrate --policy other", "leave --policy fifo"),
        ("migrate -a 0 -p 1", "a --priority from 2"),
        ("migrate --work 30ms", "a quarter"),
        ("migrate --tolerance 5ms", "must be less than --work"),
        ("noise -i 1ms", "--interval does not apply to noise"),
        ("noise --policy deadline", "SCHED_DEADLINE does not grant"),
        ("noise --threshold 1ns", "every reading would be a gap"),
        ("noise --runtime 2s", "does not fit into a --period"),
        ("pi --policy other", "three SCHED_FIFO priorities"),
        ("pi -p 2", "a --priority from 3"),
        ("pi --medium 45ms", "leave too little"),
        ("scaling --table 4", "--table '4' is not a size from 8 bytes to 16G, such as 64M"),
        ("scaling --policy deadline", "to which SCHED_DEADLINE pins no thread"),
        ("sched --busy 4.96ms", "does not fit into an --interval of 5000 us"),
        ("sched -i 20us --busy 1us", "does not fit"),
        ("sched --policy deadline", "under SCHED_DEADLINE"),
        ("signal --cache warm", "--method synchronous"),
        ("signal --policy deadline", "SCHED_DEADLINE"),
        ("topology -i 1ms", "--interval does not apply to topology"),
        ("topology --policy deadline", "SCHED_DEADLINE does not grant"),
        ("topology -l 100", "at most 99"),
    ],
)
def test_what_cannot_be_measured_is_refused(words: str, said: str) -> None:
    if words.startswith(("migrate", "pi")) and os.geteuid():
        pytest.skip("a user without real-time priority is refused for that first")
    assert said in refusal(*shlex.split(words))
