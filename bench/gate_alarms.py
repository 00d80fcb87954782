# SPDX-License-Identifier: GPL-2.0-only
"""How often a gate fails where nothing has changed: runs of this machine against runs of it.

    python bench/gate_alarms.py [COMPARISONS [FOLDER]]

Each comparison has six runs a side, measured for it alone. Alternating sides are what a gate
assumes: runs that could be exchanged. Sides one after the other are what a user does; where these
fail more often, the machine drifts. The margin is 0, with which a gate fails most easily. Without
an argument it makes 200 comparisons, which takes about 25 minutes. FOLDER keeps the runs; the same
command continues there, or compares them again.
"""

import sys
from pathlib import Path

from rtscope.engine.measure import measure, read_machine
from rtscope.engine.targets import target_of
from rtscope.model.request import Request
from rtscope.model.run import Run
from rtscope.model.units import counted
from rtscope.statistics.gate.gate import gate
from rtscope.store.runfile import decode_run, write_run

_RUNS = 6
_REQUEST = Request(interval_ns=200_000, duration_ns=300_000_000)


def _fails(first: list[Run], second: list[Run]) -> bool:
    return gate(first, second, 0.0).outcome == "fail"


def main() -> None:
    """Measure, compare, and print how many comparisons failed."""
    comparisons = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    target = target_of("local")
    machine = read_machine(target, lambda agent: None)

    def measured(number: int) -> Run:
        file = folder / f"{number:05}.json" if folder else None
        if file and file.exists():
            return decode_run(file.read_bytes())
        run = measure(_REQUEST, machine, lambda agent: None, lambda line: None, target)
        if file:
            write_run(run, file)
        return run

    alternating = in_turn = 0
    for number in range(1, comparisons + 1):
        first = 2 * _RUNS * (number - 1)
        runs = [measured(at) for at in range(first, first + 2 * _RUNS)]
        alternating += _fails(runs[::2], runs[1::2])
        in_turn += _fails(runs[:_RUNS], runs[_RUNS:])
        if number % 10 == 0 or number == comparisons:
            print(
                f"{counted(number, 'comparison')}: {alternating} failed with alternating sides, "
                f"{in_turn} with sides one after the other",
                flush=True,
            )


if __name__ == "__main__":
    main()
