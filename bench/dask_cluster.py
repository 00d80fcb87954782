# SPDX-License-Identifier: GPL-2.0-only
"""How much faster an ensemble of the lab is on a dask cluster of two workers than of one.

.venv/bin/python bench/dask_cluster.py --kernel x86_64-rt --seeds 16 --pairs 3

Scheduler and workers run on this computer. The ensemble is measured on both clusters in turn, in
pairs. Wall time needs a free CPU for each worker. The CPU time of the busiest worker, with its VMs,
does not: it is what the ensemble would take if each worker had a CPU to itself. All results are
compared to the bit.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from distributed import Client

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

WORKERS = (1, 2)


def cpu_s() -> float:
    """CPU time of a worker and of the VMs that it has ended."""
    return sum(os.times()[:4])


def measured(address: str, kernel: str, seeds: int, samples: int) -> tuple[Run, float, float]:
    """The ensemble, its seconds, and the CPU seconds of the busiest worker."""
    target = vm_target(f"vm:{kernel}")
    request, machine = Request(load="process:1", samples=samples), read_machine(target)
    with Client(address, set_as_default=False) as client, closing(Cluster(address)) as cluster:
        before, start = client.run(cpu_s), time.monotonic()
        run = measure_ensemble(
            request, range(1, 1 + seeds), machine, AgentGroup(), lambda _: None, target, 1, cluster
        )
        taken, after = time.monotonic() - start, client.run(cpu_s)
    return run, taken, max(after[worker] - before[worker] for worker in before)


def main() -> int:
    """Print all times and their ratios; return 1 where the results differ."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kernel", default="x86_64-rt")
    parser.add_argument("--seeds", type=int, default=16)
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--pairs", type=int, default=3)
    given = parser.parse_args()
    print(
        f"{given.seeds} seeds of {given.samples} samples, process:1, vm:{given.kernel}", flush=True
    )
    results, ratios = [], []
    with (
        tempfile.TemporaryDirectory() as one,
        tempfile.TemporaryDirectory() as two,
        running_cluster(Path(one), WORKERS[0], agent_path()) as first,
        running_cluster(Path(two), WORKERS[1], agent_path()) as second,
    ):
        for address in (first, second):  # send the kernel
            measured(address, given.kernel, 2, 1)
        for _ in range(given.pairs):
            pair = [
                measured(address, given.kernel, given.seeds, given.samples)
                for address in (first, second)
            ]
            for workers, (run, taken, busiest) in zip(WORKERS, pair, strict=True):
                results.append([member.threads for member in run.members])
                print(
                    f"{workers} workers: {taken:.1f} s; busiest worker {busiest:.1f} s of CPU",
                    flush=True,
                )
            ratios.append((pair[0][1] / pair[1][1], pair[0][2] / pair[1][2]))
    wall, cpu = (statistics.median(column) for column in zip(*ratios, strict=True))
    print(f"median of pairs: {wall:.2f} times as fast; by CPU time {cpu:.2f} times")
    same = all(one == results[0] for one in results)
    print("the results are the same to the bit" if same else "THE RESULTS DIFFER")
    return int(not same)


if __name__ == "__main__":
    sys.exit(main())
