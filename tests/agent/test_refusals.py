# SPDX-License-Identifier: GPL-2.0-only
"""What a probe cannot measure is refused before it starts, with the options to change."""

import json
import os
import shlex

import pytest

from tests.agent.probing import LAST_CPU, of_type, refusal, run


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (f"async --place other -a {LAST_CPU}", "place cpus"),
        ("async --policy deadline", "policy"),
        ("cyclic -a 4000", "cpus"),
        ("cyclic --load nonsense", "load"),
        ("daq --dry-run --samples-per-channel 1000", "samples-per-channel"),
        ("daq --dry-run --channels 64 --samples-per-channel 32768", "channels samples-per-channel"),
        ("daq --dry-run --interval 99us", "interval"),
        ("daq --dry-run --policy deadline", "policy"),
        ("event --data 1389us", "data interval"),
        ("event --interval 99us", "interval"),
        ("event --policy deadline", "policy"),
        ("exec -i 100 -- true", "interval"),
        ("exec --policy deadline -- true", "policy"),
        ("exec --load-cpus 1023 -- true", "load-cpus"),
        ("gtod --clock CLOCK_NONE", "clock"),
        ("gtod -i 1ms", "interval"),
        ("gtod --policy deadline", "policy"),
        ("loop --in kernel --method timerfd", "method in"),
        ("loop --in kernel -i 50us --work 0", "interval in"),
        ("loop --in kernel --work 8.1ms", "work interval in"),
        ("loop --in kernel --slack 11ms", "slack interval"),
        ("loop --slack 1us", "slack in"),
        ("loop --work 10ms", "work interval"),
        ("loop --low 12ms --high 11ms", "low high"),
        ("loop --policy deadline", "policy in method"),
        ("loop -a 0 --observer 0", "observer cpus"),
        ("loop --observer 900", "observer cpus"),
        ("loop --observer x", "observer"),
        ("loop -i 1s", "duration method"),
        ("memory -i 1ms", "interval"),
        ("memory --policy deadline", "policy"),
        ("memory --largest 1048576", "largest"),
        ("migrate --policy other", "policy priority cpus"),
        ("migrate -a 0 -p 1", "policy priority cpus"),
        ("migrate --work 30ms", "work interval"),
        ("migrate --tolerance 5ms", "tolerance work"),
        ("noise -i 1ms", "interval"),
        ("noise --policy deadline", "policy"),
        ("noise --threshold 1ns", "threshold"),
        ("noise --runtime 2s", "runtime period"),
        ("pi --policy other", "policy priority"),
        ("pi -p 2", "policy priority"),
        ("pi --medium 45ms", "hold medium interval"),
        ("scaling --table 4", "table"),
        ("scaling --policy deadline", "policy"),
        ("sched --busy 4.96ms", "busy interval"),
        ("sched -i 20us --busy 1us", "busy interval"),
        ("sched --policy deadline", "busy interval"),
        ("signal --cache warm", "cache method"),
        ("signal --policy deadline", "policy"),
        ("topology -i 1ms", "interval"),
        ("topology --policy deadline", "policy"),
        ("topology -l 100", "samples slot"),
    ],
)
def test_a_refusal_names_the_options_to_change(words: str, options: str) -> None:
    if words.startswith(("migrate", "pi")) and os.geteuid():
        pytest.skip("a user without real-time priority is refused for that first")
    probe, *rest = shlex.split(words)
    done = run(probe, "--json", "-D", "1s", *rest)
    (refused,) = of_type(list(map(json.loads, done.stdout.splitlines())), "refusal")
    assert done.returncode == 2
    assert refused["options"] == options.split()
    assert done.stderr == f"rtscope-agent {probe}: {refused['text']}\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("cyclic -t4", "--cpus 0-(N-1)"),
        ("cyclic --histogram=400", "keeps a histogram"),
        ("exec", "there is no command to be measured"),
    ],
)
def test_a_refusal_of_no_known_option_says_what_to_do(words: str, said: str) -> None:
    assert said in refusal(*shlex.split(words))
