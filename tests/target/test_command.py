# SPDX-License-Identifier: GPL-2.0-only
"""The agent's command line for each kind of request."""

import pytest

from rtscope.model.errors import RtscopeError
from rtscope.model.request import (
    AgentRequest,
    DryRun,
    MachineRequest,
    PointsRequest,
    Request,
    SymbolsRequest,
    ThreadsRequest,
    TuneRequest,
)
from rtscope.model.tuning import TuningStep
from rtscope.target.command import command_of, guest_command, tune_command

STEP = TuningStep("p", 1, "one", "", ["tasks away=1"])
PROGRESS = "--progress=250000000ns"


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (
            Request(interval_ns=5, load="cpu:1", options={"phase": "fixed"}, seed=3),
            f"cyclic --json --seed=3 --load=cpu:1 {PROGRESS} --interval=5ns --phase=fixed",
        ),
        (
            DryRun(Request(probe="exec", program=["./app", "-x"])),
            f"exec --json {PROGRESS} --dry-run -- ./app -x",
        ),
        (
            Request(tuning=STEP),
            f"cyclic --json --idle-states=default {PROGRESS} --cpu-counts --tune=tasks away=1",
        ),
        (
            Request(tuning=STEP, idle_states="limit:5us"),
            f"cyclic --json --idle-states=limit:5us {PROGRESS} --cpu-counts --tune=tasks away=1",
        ),
        (MachineRequest(audit=True), "machine --json --audit"),
        (MachineRequest(activity=True), "machine --json --activity"),
        (SymbolsRequest(modules_only=True), "symbols --json --modules"),
        (ThreadsRequest(7), "threads --json --interval=7ns"),
        (
            PointsRequest(9, 7, histograms=True, enable=["A"], reset=True),
            "points --json --enable=A --reset --interval=7ns --histograms 9",
        ),
        (
            TuneRequest("hold", "p", ["tasks away=1"], "/j", keep=True),
            "tune hold --json --journal=/j --keep --profile=p tasks away=1",
        ),
    ],
)
def test_each_request_has_its_words(request_: AgentRequest, words: str) -> None:
    assert " ".join(command_of(request_)) == words
    if isinstance(request_, TuneRequest):
        without_json = " ".join(tune_command(request_, json=False))
        assert without_json == words.replace(" --json", ""), "as a service runs it"


def test_a_guest_where_time_is_exact_has_the_same_words_with_and_without_samples() -> None:
    plain = guest_command(Request(), 4, exact=True)
    sent = guest_command(Request(samples_file="/here"), 4, exact=True)
    assert plain[-3:] == ["--progress=0", "--samples-file=/samples/all", "--seed=4"]
    assert (plain[:2], sent[:2]) == (
        ["rtscope_seed=4", "rtscope_send=0"],
        ["rtscope_seed=4", "rtscope_send=1"],
    )
    assert plain[2:] == sent[2:]
    assert "--samples-file=/samples/all" not in guest_command(Request(), 4, exact=False)
    assert guest_command(MachineRequest(), 4, exact=True) == ["machine", "--json"]


@pytest.mark.parametrize("name", ["load", "cpus", "samples-file", "json", "dry-run", "tune"])
def test_an_option_of_every_measurement_is_refused_among_those_of_the_probe(name: str) -> None:
    with pytest.raises(RtscopeError, match=f"--{name} is an option of every measurement"):
        command_of(Request(options={name: "cpu"}))
