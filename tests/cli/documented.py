# SPDX-License-Identifier: GPL-2.0-only
"""The command lines of README.md and docs/, and how each is run in a test.

A command is what a reader would type: in an indented or fenced block, behind `$ `, or in a block
whose first line begins with one of PROGRAMS. Tables here declare all that a test changes of it.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from rtscope.engine.planfile import find_plan
from rtscope.model.cpulist import parse_cpu_list

ROOT: Final = Path(__file__).parents[2]
PROGRAMS: Final = (
    "rtscope", "rtscope-agent", "make", "cc", "git", "sudo", ".", "examples/llrf/llrf",
)  # fmt: skip
"""A block that begins with one of them has nothing but commands in it."""

NOT_RUN: Final = {
    "make measure": "installs packages and measures for a minute; its parts are run here",
    "rtscope serve": "runs until Ctrl-C: tests/serve/test_command.py",
    "make BR2_EXTERNAL=/path/to/rtscope/packaging/buildroot menuconfig": "needs Buildroot: "
    "tests/setup/test_images.py",
    ". .venv/bin/activate": "the test has the installed commands on its PATH",
    "sudo rtscope tune undo": "would undo what somebody has applied here: tests/agent/test_tune.py",
    "sudo rtscope tune hold isolated-cores --cpus 1-3": "changes this computer: "
    "tests/agent/test_tune_hold.py",
    **dict.fromkeys(
        [
            "rtscope tune measure isolated-cores --cpus 1-3",
            "sudo rtscope tune measure isolated-cores --cpus 1-3",
            "sudo rtscope tune measure isolated-cores --cpus 1-3 --load mixed --duration 30s "
            "--rounds 5",
        ],
        "boots a VM for each step and round: tests/lab/test_tune_steps.py, tests/cli/test_tune.py",
    ),
    "sudo systemctl enable --now rtscope-isolated": "changes this computer",
    **dict.fromkeys(
        [
            "sudo -u postgres createuser --pwprompt fleet",
            "sudo -u postgres createdb --owner fleet rtscope",
        ],
        "needs a system-wide PostgreSQL: tests/store/test_postgresql.py has one of its own",
    ),
    **dict.fromkeys(
        ["sudo rtscope prove 1", "sudo rtscope prove last"],
        "changes this computer for ten rounds: tests/engine/test_proving.py",
    ),
    **dict.fromkeys(
        ["rtscope farm check lab.toml", "rtscope farm run lab.toml quick --tag nightly"],
        "needs a labgrid: tests/farm/test_run.py, tests/farm/test_qemu.py",
    ),
    "rtscope run rt-against-std --seeds 8 --dask tcp://node1:8786": "needs a cluster: "
    "tests/farm/test_dask.py",
    "rtscope lab shell 6.12-rt-amd64 --file ./my-loop": "interactive: tests/lab/test_console.py",
    "rtscope lab kernel build x86_64-rt --name mine --source ~/linux --config my.config "
    "--patches ~/series": "tests/lab/test_build.py builds from trees, fragments and series",
    "make -C examples/llrf CC=$PWD/build/musl/x86_64/bin/cc LDFLAGS=-static": "needs the compiler "
    "of `make agents`: tests/lab/test_llrf.py",
    "rtscope lab shell x86_64-rt --file examples/llrf/llrf": "interactive: tests/lab/test_llrf.py",
    "rtscope lab shell x86_64-rt --module examples/driver --file ./my-loop": "interactive: "
    "tests/lab/test_console.py",
    "insmod /modules/rtevent.ko && insmod /modules/rtdaq.ko": "in the guest: "
    "tests/lab/test_llrf.py",
    "rtscope-agent cyclic --priority 10 --load mixed -D 60s > /dev/null &": "in the guest: "
    "tests/lab/test_llrf.py",
    "llrf -d -p 80 -t 20 &": "in the guest: tests/lab/test_llrf.py",
    "rtscope-agent points $! --interval 1": "in the guest: tests/lab/test_llrf.py",
}
"""Commands that no test runs, each with its reason. One that is not in the documents fails."""

_MEASURE: Final = r"^(rtscope measure\b|rtscope agent (?!exec)\w+)(?!.*(?:-D|--duration) )"

SUBSTITUTIONS: Final = [
    # Nobody is asked for a password.
    (r"\bsudo ", ""),
    # Placeholders.
    (r"\bvm:NAME\b", "vm:x86_64-rt"),
    (r"--module \./my-driver", "--module examples/driver"),
    (r"\b(points(?: --target \S+)?) (?:PID|4711|\$!|\$\(pidof llrf\))", r"\1 $LLRF"),
    (r"^(rtscope gate.*) EXPERIMENT -- EXPERIMENT", r"\1 run-[12].json -- run-[34].json"),
    (r"^rtscope gate --calibrate EXPERIMENT", "rtscope gate --calibrate run-?.json"),
    (r"^(rtscope gate .*--plan) gate (.*?)( --runs 8)?$", r"\1 mini.toml \2 --runs 5"),
    (r"^(rtscope gate) (?!--calibrate)(.*--plan .*--baseline )(\S+)(.*)",
     r"\1 --calibrate \2\3\4 && \1 \2\3\4"),
    (r"before-1.json before-2.json -- after-1.json after-2.json", "run-[12].json -- run-[34].json"),
    (r"^rtscope export last -F (perfetto|trace)", "rtscope import trace.dat --thread control "
     r"--deadline 1234.567000 && rtscope export last -F \1"),
    (r"^rtscope compare --paths", "rtscope measure -qt vm:x86_64-rt -l 50 --explain 1 && "
     "rtscope measure -qt vm:x86_64-std -l 50 --explain 1 && rtscope compare --paths"),
    (r"^rtscope history board7", "rtscope history"),
    (r"^rtscope list --(machine|kernel|metric|tag).*", "rtscope list --since 90d --metric 'max>0'"),
    (r"^rtscope store copy .*", "rtscope store copy $XDG_DATA_HOME/rtscope/runs.sqlite a.sqlite"),
    (r"^rtscope run PLAN$", "rtscope run quick --dry-run"),
    (r"\b(EXPERIMENT|3fa9)\b", "last"),
    (r"make -C /usr/src/linux -j8", "make -C tree -j8"),
    (r"pi@192\.0\.2\.7:2222", "pi@board"),
    # Durations, numbers of samples and of repetitions.
    (r"(-D|--duration) \S+", r"\1 300ms"),
    (_MEASURE, r"\1 -D 300ms"),
    (r"^(rtscope watch\b)(?!.*--for )", r"\1 --for 300ms"),
    (r"--for \S+", "--for 300ms"),
    (r"--pid (1234|\$\(pidof llrf\))", "--pid $LLRF"),
    (r"(-l|--samples) \d+", r"\1 20"),
    (r"(measure.* memory)$", r"\1 -O largest=8"),
    (r"largest([ =])64", r"largest\g<1>8"),
    (r"--interval 1s", "--interval 100ms"),
    (r"--scale [\d.]+", "--scale 0.0001"),
    (r"^rtscope run(?!.*(?:--scale|--dry-run))", "rtscope run --scale 0.05"),
    (r"--seeds 20", "--seeds 2"),
    (r"--rounds 5", "--rounds 1"),
    (r"^rtscope (scale|interfere)(?!.* -- )", r"rtscope \1 --duration 20ms"),
    (r"^rtscope (scale|interfere)\b", r"rtscope \1 --rounds 2"),
    (r"^examples/llrf/llrf -p 80 &", "examples/llrf/llrf -p 80 -t 1"),
    # Commands that show until Ctrl-C get one.
    (r"^(rtscope (?:points .*\$LLRF|threads .*--live).*)",
     r"timeout --preserve-status --signal=INT 10 \1"),
    # A change is made to an emulated system, and nobody is asked.
    (r"^rtscope tune apply (?!.*--target)",
     "rtscope tune apply --yes --target vm:x86_64-rt,cpus=2 "),
    (r"\| tee /etc/systemd/system/", "> "),
    # Modules of ours are loaded in the lab only.
    (r"^rtscope agent (daq|event)\b", r"rtscope lab boot x86_64-rt -- \1"),
]  # fmt: skip
"""Patterns, applied in this order, and what stands for each."""

_CPUS: Final = re.compile(r"(-a|--cpus|--load-cpus|--observer) (\d[\d,-]*)(?=\s|$)")
_VM_CPUS: Final = re.compile(r"vm:[^ ]*,cpus=(\d+)")
_KERNEL: Final = re.compile(r"(?:vm:|lab kernel build |lab boot |lab verify )([\w.-]+)")
_PLAN: Final = re.compile(r"^rtscope run (?!.*--target)(?:--\S+ [\d.]+ )?([\w-]+)")
_BUILT: Final = {"x86_64-rt", "x86_64-std", "arm64-rt"}
"""by the ring `kernels`; others are of the ring `long`"""
_JUDGES: Final = re.compile(
    r"--budget|--until|--fail-on|^rtscope (?:agent sched|gate|run|tail|tune apply)"
)
"""An emulated board has no boot loader, so one change of a profile fails there."""


_PRIVILEGED: Final = {
    r"^rtscope (measure|agent) (pi|migrate)\b": "real-time priorities",
    r"^rtscope run (?!.*--dry-run)(.* )?quick\b": "real-time priorities",
    r"^rtscope tune status$": "root, if root has tuned this system",
}


def commands() -> dict[str, str]:
    """Each command line of the documents, and where it first stands."""
    found: dict[str, str] = {}
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for number, line in _typed(path.read_text()):
            found.setdefault(line, f"{path.relative_to(ROOT)}:{number}")
    return found


def as_run(command: str) -> str:
    """The line that a test gives to the shell."""
    for pattern, text in SUBSTITUTIONS:
        command = re.sub(pattern, text, command)
    if kernels(command):
        cpus = _VM_CPUS.search(command)
        present = list(range(int(cpus[1]))) if cpus else [0]
    else:
        present = sorted(os.sched_getaffinity(0))

    unused = list(present)

    def those_present(match: re.Match[str]) -> str:
        """The CPUs of a list that the system has; else one that no list has had."""
        wanted = sorted(set(parse_cpu_list(match[2])) & set(present))
        chosen = wanted or unused[-1:] or present[-1:]
        unused[:] = [cpu for cpu in unused if cpu not in chosen]
        return f"{match[1]} {','.join(map(str, chosen))}"

    return _CPUS.sub(those_present, command)


def kernels(line: str) -> set[str]:
    """The lab's kernels that it needs, by itself or by its plan."""
    plan = _PLAN.match(line)
    targets = find_plan(plan[1]).plan.targets if plan else []
    return set(_KERNEL.findall(" ".join([line, *targets])))


def ring(line: str) -> str | None:
    """The mark of its test."""
    needed = kernels(line)
    if needed - _BUILT or "kernel add" in line:
        return "long"
    return "kernels" if needed else None


def needed_rights(line: str) -> str:
    """The rights that an ordinary user lacks for this command; empty if the user can run it."""
    return next((right for pattern, right in _PRIVILEGED.items() if re.search(pattern, line)), "")


def statuses(line: str) -> set[int]:
    """What it may exit with: only one that judges may find a budget failed."""
    if line.startswith("timeout "):
        return {0, 130}
    return {0, 1} if _JUDGES.search(line) else {0}


def _typed(text: str) -> Iterator[tuple[int, str]]:
    for number, block in _blocks(text):
        lines = _joined(number, block)
        first = lines[0][1].split()[:1]
        for at, line in lines:
            if line.startswith("$ "):
                yield at, _uncommented(line[2:])
            elif first and first[0] in PROGRAMS and line:
                yield at, _uncommented(line)


def _blocks(text: str) -> Iterator[tuple[int, list[str]]]:
    """The blocks of code, each with the number of its first line."""
    block: list[str] = []
    begin, fence = 0, False
    for number, line in enumerate([*text.splitlines(), ""], 1):
        if line.startswith("```"):
            fence = not fence
        elif fence or line.startswith("    "):
            begin = begin or number
            block.append(line if fence else line[4:])
            continue
        if block:
            yield begin, block
        block, begin = [], 0


def _joined(number: int, block: list[str]) -> list[tuple[int, str]]:
    """The lines with their numbers, those that a backslash continues as one."""
    lines: list[tuple[int, str]] = []
    for at, line in enumerate(block, number):
        if lines and lines[-1][1].endswith("\\"):
            lines[-1] = (lines[-1][0], lines[-1][1][:-1].rstrip() + " " + line.strip())
        else:
            lines.append((at, line.strip()))
    return lines


def _uncommented(line: str) -> str:
    return re.sub(r"\s+# .*", "", line)
