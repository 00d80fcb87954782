# SPDX-License-Identifier: GPL-2.0-only
"""VMs of the lab on the nodes of a dask.distributed cluster.

A node gets the kernel by the hash of its content, keeps it in its own cache, and must have the same
rtscope, agent and QEMU: then its runs are those that any other node gives, to the bit.
"""

import hashlib
import secrets
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import cache
from socket import gethostname
from typing import Final, cast

import msgspec
from distributed import Client, Event, get_client
from distributed import Future as DaskFuture

from rtscope import __version__
from rtscope.lab.kernels import Kernel
from rtscope.lab.parcel import Parcel, pack, parcel_of, unpack
from rtscope.lab.vm import VmTarget, vm_target
from rtscope.model.errors import RtscopeError
from rtscope.model.machine import Machine
from rtscope.model.request import Request
from rtscope.model.run import Run
from rtscope.target.agent import Agent, Target
from rtscope.target.local import agent_path

_CONNECT_S: Final = 20
_POLL_S: Final = 1.0
Measure = Callable[[Request, Machine, Callable[[Agent], None], Target], Run]


class Job(msgspec.Struct, frozen=True):
    """What a node measures, and what it must have for it."""

    target: str
    request: Request
    machine: Machine
    kernel: Parcel
    version: str
    agent: str
    qemu: str
    stop: str
    """name of the event that ends it"""


class Cluster:
    """A cluster, by the address of its scheduler."""

    def __init__(self, address: str) -> None:
        """Connect. Raises RtscopeError."""
        try:
            self._client = Client(address, timeout=_CONNECT_S, set_as_default=False)
        except (OSError, ValueError) as error:
            raise RtscopeError(
                f"--dask {address}: no scheduler answers there ({error}): start one by `dask "
                "scheduler`, and workers by `dask worker`"
            ) from None
        if not self._client.scheduler_info(n_workers=-1)["workers"]:
            self._client.close()
            raise RtscopeError(f"--dask {address}: the cluster has no worker: start `dask worker`")
        self._executor = self._client.get_executor(pure=False)
        self._stop = Event(f"rtscope-stop-{secrets.token_hex(8)}", client=self._client)
        self._parcels: dict[str, Parcel] = {}
        self._sent: dict[Parcel, DaskFuture[bytes]] = {}
        self._lock = threading.Lock()

    def close(self) -> None:
        """End what still runs there, and disconnect."""
        self.interrupt()
        self._client.close()

    def interrupt(self) -> None:
        """Ask all agents there to end early and still report what they measured."""
        self._stop.set()

    def kill(self) -> None:
        """As interrupt: a node ends its VMs itself."""
        self.interrupt()

    def submit(
        self, measure: Measure, target: Target, request: Request, machine: Machine
    ) -> "Future[Run]":
        """Begin to measure on whichever node is free. `measure` is a function of a module.

        Raises RtscopeError for a target that a node cannot have.
        """
        if not isinstance(target, VmTarget) or target.spec.files or target.spec.commands:
            raise RtscopeError(
                f"--dask cannot measure on {target.name}: nodes measure VMs of the lab without "
                "files and commands of yours"
            )
        parcel = self._parcel(target.kernel)
        job = Job(
            target.name, request, machine, parcel, __version__,
            _agent_hash(target.kernel.arch), target.qemu, self._stop.name,
        )  # fmt: skip
        packed = self._sent[parcel]
        return cast("Future[Run]", self._executor.submit(run_job, job, packed, measure))

    def _parcel(self, kernel: Kernel) -> Parcel:
        """The kernel's, which is sent when it is first needed."""
        with self._lock:
            if kernel.name not in self._parcels:
                parcel = self._parcels[kernel.name] = parcel_of(kernel)
                (self._sent[parcel],) = self._client.scatter([pack(kernel)], hash=True)
            return self._parcels[kernel.name]


def run_job(job: Job, packed: bytes, measure: Measure) -> Run:
    """Measure on this node. Raises RtscopeError that names it."""
    try:
        return _measured(job, packed, measure)
    except RtscopeError as error:
        raise RtscopeError(f"node {gethostname()}: {error}") from None


def _measured(job: Job, packed: bytes, measure: Measure) -> Run:
    if job.version != __version__:
        raise RtscopeError(f"has rtscope {__version__}, not {job.version}: install the same")
    unpack(job.kernel, packed)
    target = vm_target(job.target)
    if _agent_hash(target.kernel.arch) != job.agent:
        raise RtscopeError(
            "has another rtscope-agent: install the same wheel on all nodes, or set RTSCOPE_AGENT "
            "there, because the agent's machine code is part of what is measured"
        )
    if target.qemu != job.qemu:
        raise RtscopeError(f"has QEMU {target.qemu}, not {job.qemu}: install the same")
    stop = Event(job.stop, client=get_client())
    ended, agents = threading.Event(), list[Agent]()

    def watch() -> None:
        while not ended.wait(_POLL_S):
            if stop.is_set():
                for agent in agents:
                    agent.interrupt()
                return

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        return measure(job.request, job.machine, agents.append, target)
    finally:
        ended.set()
        watcher.join()


@cache
def _agent_hash(arch: str) -> str:
    return hashlib.sha256(agent_path(arch).read_bytes()).hexdigest()
