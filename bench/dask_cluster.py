# SPDX-License-Identifier: GPL-2.0-only
"""How much faster an ensemble of the lab is on a dask cluster of two workers than of one.

.venv/bin/python bench/dask_cluster.py --kernel x86_64-rt --seeds 16

Scheduler and workers run on this computer, which needs a CPU for each worker that does nothing
else. Results of both clusters are compared to the bit.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from rtscope.engine.agent_group import AgentGroup
from rtscope.engine.ensemble import measure_ensemble
from rtscope.engine.measure import read_machine
from rtscope.farm.cluster import Cluster
from rtscope.lab.vm import vm_target
from rtscope.model.request import Request
from rtscope.model.run import Run
from rtscope.target.local import agent_path
from tests.farm.dask import running_cluster


def measured(kernel: str, seeds: int, samples: int, workers: int) -> tuple[Run, float]:
    """The ensemble, and the seconds that it took on nodes that have the kernel already."""
    target = vm_target(f"vm:{kernel}")
    request = Request(load="process:1", samples=samples)
    machine = read_machine(target)
    with (
        tempfile.TemporaryDirectory() as folder,
        running_cluster(Path(folder), workers, agent_path()) as address,
    ):
        cluster = Cluster(address)
        try:
            for wanted in (range(1, 1 + 2 * workers), range(1, 1 + seeds)):
                start = time.monotonic()
                run = measure_ensemble(
                    request, wanted, machine, AgentGroup(), lambda run: None, target, 1, cluster
                )
            return run, time.monotonic() - start
        finally:
            cluster.close()


def main() -> int:
    """Print both times and their ratio; return 1 where the results differ."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kernel", default="x86_64-rt")
    parser.add_argument("--seeds", type=int, default=16)
    parser.add_argument("--samples", type=int, default=2000)
    given = parser.parse_args()
    one, one_s = measured(given.kernel, given.seeds, given.samples, 1)
    two, two_s = measured(given.kernel, given.seeds, given.samples, 2)
    print(f"{given.seeds} seeds of {given.samples} samples, process:1, vm:{given.kernel}")
    print(f"1 worker: {one_s:.1f} s; 2 workers: {two_s:.1f} s; {one_s / two_s:.2f} times as fast")
    same = [member.threads for member in one.members] == [member.threads for member in two.members]
    print("the results are the same to the bit" if same else "THE RESULTS DIFFER")
    return int(not same)


if __name__ == "__main__":
    sys.exit(main())
