# SPDX-License-Identifier: GPL-2.0-only
"""labgrid's coordinator: places, who has them, and leases. labgrid decides who gets a place next.

labgrid's client is asynchronous. It runs in a thread with an event loop of its own, and is
connected again whenever the coordinator was restarted. A restarted coordinator has forgotten who
has its places, so those that are leased here are acquired again at once.
"""

import asyncio
import contextlib
import logging
import os
import re
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from concurrent.futures import TimeoutError as CallTimeoutError
from datetime import UTC, datetime
from pathlib import Path
from socket import gethostname
from threading import Event, Thread
from typing import Any, Final, TypeVar

import grpc
import msgspec
from labgrid.remote.client import ClientSession, ServerError
from labgrid.remote.client import Error as LabgridError
from labgrid.remote.common import Place, Reservation, ReservationState
from labgrid.remote.generated import labgrid_coordinator_pb2 as messages
from labgrid.resource.remote import RemotePlaceManager
from labgrid.util.proxy import proxymanager

from rtscope.model.errors import BootError, RtscopeError

DEFAULT_PORT: Final = 20408
_CALL_S: Final = 30.0
"""longest answer; an exporter that does not answer costs 10 s"""
_CONNECT_S: Final = 10.0
_POLL_S: Final = 1.0
_RETURN_S: Final = 120.0
"""seconds that a coordinator may be away while a place is leased, released or waited for"""
_OURS: Final = re.compile(r"(?P<host>.*)\.rtscope-(?P<pid>[0-9]{1,10})/.*")
Result = TypeVar("Result")


class Unavailable(RtscopeError):  # noqa: N818 - a state, which ends
    """The coordinator cannot be reached now."""


class _Session(ClientSession):  # type: ignore[misc]
    """A client with a name of its own, so that two processes of one user are two clients."""

    def gethostname(self) -> str:
        """The computer and the process; the user after it may release its places."""
        return f"{super().gethostname()}.rtscope-{os.getpid()}"


class Lease(msgspec.Struct):
    """A place that is acquired for this process."""

    place: str
    lost: str = ""
    """who has the place now, after the coordinator was restarted; "" while it is ours"""


class Coordinator:
    """A connection to labgrid's coordinator, from which places are leased."""

    def __init__(self, address: str = "") -> None:
        """Connect; `address` is HOST:PORT, or "" for labgrid's default. Raises RtscopeError."""
        # labgrid reports on the root logger, which would print on standard error.
        logging.getLogger().addHandler(logging.NullHandler())
        self.address = address or os.environ.get("LG_COORDINATOR", f"127.0.0.1:{DEFAULT_PORT}")
        self._leases: list[Lease] = []
        self._session: ClientSession | None = None
        self._ended = Event()
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        try:
            self._call(self._connected())
        except Unavailable as error:
            self.close()
            raise RtscopeError(str(error)) from None
        self._keeper = Thread(target=self._keep, daemon=True)
        self._keeper.start()

    def close(self) -> None:
        """Release what is still leased, and end the connection."""
        for lease in list(self._leases):
            with contextlib.suppress(RtscopeError):
                self._release(lease)
        self._ended.set()
        with contextlib.suppress(RtscopeError):
            self._call(self._disconnected())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_CONNECT_S)

    @property
    def user(self) -> str:
        """The name by which the coordinator knows this process: HOST/USER."""
        session = self._session
        return f"{session.gethostname()}/{session.getuser()}" if session else ""

    def places(self) -> dict[str, Place]:
        """All places by their names. Raises RtscopeError."""

        async def read(session: ClientSession) -> dict[str, Place]:
            return dict(session.places)

        return self._asked(read)

    def matching(self, filters: Mapping[str, str]) -> list[Place]:
        """The places with these tags; the tag `name` is a place's name. Raises RtscopeError."""
        return [
            place
            for place in self.places().values()
            if filters.items() <= {**place.tags, "name": place.name}.items()
        ]

    def lacking(self, place: Place) -> str:
        """The first resource of a place that nobody exports; "" if there is none."""

        async def read(session: ClientSession) -> str:
            exported = [
                (exporter, group, resource.cls, name)
                for exporter, groups in session.resources.items()
                for group, resources in groups.items()
                for name, resource in resources.items()
                if resource.data
            ]
            unmatched = place.unmatched(exported)
            return repr(unmatched) if unmatched else ""

        return self._asked(read)

    def holder(self, place: Place) -> str:
        """Who has a place and since when, in words; "" where it is free."""
        return holder_of(place)

    @contextlib.contextmanager
    def leased(
        self,
        filters: Mapping[str, str],
        wait_s: float,
        waits: Callable[[str], None],
        is_over: Callable[[], bool],
    ) -> Iterator[Lease]:
        """Lease the place that labgrid allocates for these tags, and release it after the block.

        `waits` gets a sentence about who has the place, whenever that changes. Raises BootError
        after `wait_s` seconds, or once `is_over`.
        """
        lease = self._reserved(filters, wait_s, waits, is_over)
        self._leases.append(lease)
        try:
            yield lease
        finally:
            self._release(lease)

    def _reserved(
        self,
        filters: Mapping[str, str],
        wait_s: float,
        waits: Callable[[str], None],
        is_over: Callable[[], bool],
    ) -> Lease:
        until = time.monotonic() + wait_s
        token, told = "", ""
        try:
            while True:
                token, place = self._allocated(token, filters)
                if place:
                    return Lease(place)
                text = self._holders(filters)
                if text != told:
                    told = text
                    waits(text)
                if is_over():
                    raise BootError(f"interrupted: {text}")
                if time.monotonic() > until:
                    raise BootError(f"{text}; it was not free after {wait_s:.0f} s")
                time.sleep(_POLL_S)
        except RtscopeError:
            self._cancel(token)
            raise

    def _allocated(self, token: str, filters: Mapping[str, str]) -> tuple[str, str]:
        """The reservation, made if there is none, and its place, acquired; "" while it waits."""
        try:
            token = token or self._asked(lambda session: _reserve(session, filters))
            place = self._asked(lambda session: _allocated(session, token))
            if place:
                self._asked(lambda session: _acquire(session, place))
                # Whoever releases a place that is reserved still, leaves it reserved for a minute.
                self._cancel(token)
        except _Forgotten:
            return "", ""
        return token, place

    def _holders(self, filters: Mapping[str, str]) -> str:
        """Who has the places with these tags, in a sentence."""
        said = []
        for place in self.matching(filters):
            state = holder_of(place) or "free, and labgrid gives it away within 15 s"
            said.append(f"place {place.name} is {state}")
        return "; ".join(said) or "no place has these tags"

    def _cancel(self, token: str) -> None:
        if token:
            with contextlib.suppress(RtscopeError, _Forgotten):
                self._asked(lambda session: _cancel(session, token))

    def _release(self, lease: Lease) -> None:
        """Release a place, unless somebody else has it now. Raises RtscopeError."""
        if lease in self._leases:
            self._leases.remove(lease)
        if not lease.lost:
            with contextlib.suppress(_Forgotten):
                self._asked(lambda session: _release(session, lease.place, self.user))

    def _keep(self) -> None:
        """Stay connected, and acquire leased places again that the coordinator has forgotten."""
        while not self._ended.wait(_POLL_S):
            with contextlib.suppress(RtscopeError, _Forgotten):
                places = self.places()
                for lease in self._leases:
                    place = places.get(lease.place)
                    if place is None or lease.lost:
                        continue
                    if not place.acquired:
                        self._acquire_again(lease.place)
                    elif place.acquired != self.user:
                        lease.lost = place.acquired

    def _acquire_again(self, place: str) -> None:
        self._asked(lambda session: _acquire(session, place))

    def _asked(self, act: Callable[[ClientSession], Coroutine[Any, Any, Result]]) -> Result:
        """The coordinator's answer, for which it may be away for a while. Raises RtscopeError."""
        until = time.monotonic() + _RETURN_S

        async def ask() -> Result:
            return await act(await self._connected())

        while True:
            try:
                return self._call(ask())
            except Unavailable as error:
                if self._ended.is_set() or time.monotonic() > until:
                    raise RtscopeError(str(error)) from None
                time.sleep(_POLL_S)

    def _call(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result(_CALL_S)
        except CallTimeoutError:
            future.cancel()
            raise Unavailable(
                f"labgrid's coordinator at {self.address} did not answer within {_CALL_S:.0f} s"
            ) from None
        except grpc.aio.AioRpcError as error:
            if error.code() is grpc.StatusCode.UNAVAILABLE:
                raise self._unavailable() from None
            raise RtscopeError(
                f"labgrid's coordinator at {self.address} refuses: {error.details()}"
            ) from None
        except LabgridError as error:
            raise RtscopeError(f"labgrid: {' '.join(map(str, error.args))}") from None

    def _unavailable(self) -> Unavailable:
        return Unavailable(
            f"labgrid's coordinator at {self.address} cannot be reached: start "
            "labgrid-coordinator, or name the right one as `coordinator` in the farm file or in "
            "LG_COORDINATOR"
        )

    async def _connected(self) -> ClientSession:
        session = self._session
        if session and not session.stopping.is_set():
            return session
        await self._disconnected()
        address = proxymanager.get_grpc_address(self.address, default_port=DEFAULT_PORT)
        session = _Session(address, self._loop)
        try:
            await asyncio.wait_for(session.start(), _CONNECT_S)
        except (ServerError, TimeoutError):
            session.stopping.set()
            await session.close()
            raise self._unavailable() from None
        self._session = session
        manager = RemotePlaceManager.get()
        manager.session, manager.loop = session, self._loop
        return session

    async def _disconnected(self) -> None:
        session, self._session = self._session, None
        if session:
            session.stopping.set()
            await session.stop()
            await session.close()


def holder_of(place: Place) -> str:
    """Who has a place and since when, in words; "" where it is free."""
    if not place.acquired:
        return "reserved for another client" if place.reservation else ""
    since = datetime.fromtimestamp(place.changed, UTC).isoformat(timespec="seconds")
    return f"held by {place.acquired} since {since}{_of_the_dead(place)}"


def _of_the_dead(place: Place) -> str:
    """What to do about a place whose holder was a process here that was killed."""
    found = _OURS.fullmatch(place.acquired)
    if not found or found["host"] != os.environ.get("LG_HOSTNAME", gethostname()):
        return ""
    if Path(f"/proc/{found['pid']}").exists():
        return ""
    return (
        ", an rtscope that ended without releasing it: free it by "
        f"`labgrid-client -p {place.name} release`"
    )


class _Forgotten(Exception):  # noqa: N818 - a state, not an error
    """The coordinator does not know a reservation any more: it was restarted."""


async def _reserve(session: ClientSession, filters: Mapping[str, str]) -> str:
    wanted = messages.Reservation.Filter(filter=dict(filters))
    request = messages.CreateReservationRequest(filters={"main": wanted}, prio=0.0)
    answer = await session.stub.CreateReservation(request)
    return str(Reservation.from_pb2(answer.reservation).token)


async def _allocated(session: ClientSession, token: str) -> str:
    """The place of a reservation; "" while it waits. Asking keeps the reservation alive."""
    try:
        answer = await session.stub.PollReservation(messages.PollReservationRequest(token=token))
    except grpc.aio.AioRpcError as error:
        if error.code() is grpc.StatusCode.FAILED_PRECONDITION:
            raise _Forgotten from None
        raise
    reservation = Reservation.from_pb2(answer.reservation)
    if reservation.state in (ReservationState.expired, ReservationState.invalid):
        raise _Forgotten
    if reservation.state is ReservationState.waiting:
        return ""
    return str(reservation.allocations["main"][0])


async def _acquire(session: ClientSession, place: str) -> None:
    await session.stub.AcquirePlace(messages.AcquirePlaceRequest(placename=place))
    await session.sync_with_coordinator()


async def _release(session: ClientSession, place: str, user: str) -> None:
    await session.stub.ReleasePlace(messages.ReleasePlaceRequest(placename=place, fromuser=user))
    await session.sync_with_coordinator()


async def _cancel(session: ClientSession, token: str) -> None:
    try:
        await session.stub.CancelReservation(messages.CancelReservationRequest(token=token))
    except grpc.aio.AioRpcError as error:
        if error.code() is not grpc.StatusCode.FAILED_PRECONDITION:
            raise
