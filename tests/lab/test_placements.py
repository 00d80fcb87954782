# SPDX-License-Identifier: GPL-2.0-only
"""Placements on guests whose topology is known: two packages, cores with hardware threads."""

import msgspec
import pytest

from rtscope.lab.kernels import Kernel
from rtscope.lab.vm import vm_target
from rtscope.model.machine import Machine
from rtscope.model.placements import CACHES_APART, CORES_FIRST, SIBLINGS_FIRST, orders_of, pairs_of
from rtscope.model.request import MachineRequest
from rtscope.target.fingerprint import machine_of
from rtscope.target.protocol import files_of

pytestmark = pytest.mark.kernels


def guest(kernel: Kernel, topology: str) -> Machine:
    """What a guest of eight CPUs with this topology tells; nothing of it is remembered."""
    target = vm_target(f"vm:{kernel.name},cpus=8,mode=fast")
    target = msgspec.structs.replace(target, unseen=["-smp", f"cpus=8,{topology}"])
    with target.started_agent(MachineRequest()) as agent:
        return machine_of(files_of(agent.lines(90)))


def test_threads_spread_over_packages_and_cores_as_the_guest_has_them(rt_kernel: Kernel) -> None:
    machine = guest(rt_kernel, "sockets=2,cores=2,threads=2")
    found = {order.name: order.placements for order in orders_of(machine, range(8), [2, 4])}
    assert [one.cpus for one in found[CORES_FIRST]] == [(0, 2), (0, 2, 4, 6)]
    assert [one.cpus for one in found[CACHES_APART]] == [(0, 4), (0, 2, 4, 6)]
    assert [one.cpus for one in found[SIBLINGS_FIRST]] == [(0, 1), (0, 1, 2, 3)]
    pairs = {pair.shared: pair.placement.cpus for pair in pairs_of(machine, range(8))}
    assert (pairs["core"], pairs["L3 cache"], pairs[""]) == ((0, 1), (0, 2), (0, 4))


def test_cores_without_siblings_have_one_order(rt_kernel: Kernel) -> None:
    machine = guest(rt_kernel, "sockets=1,cores=8,threads=1")
    assert [order.name for order in orders_of(machine, range(8), range(1, 9))] == [CORES_FIRST]
    assert [pair.placement.cpus for pair in pairs_of(machine, range(8))] == [(0, 1)]
