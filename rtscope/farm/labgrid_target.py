# SPDX-License-Identifier: GPL-2.0-only
"""A labgrid target: the drivers of a leased place, from labgrid's environment file."""

import copy
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pexpect
from labgrid import Environment, Target
from labgrid.config import Config
from labgrid.exceptions import (
    InvalidConfigError,
    NoConfigFoundError,
    NoDriverFoundError,
    NoResourceFoundError,
    NoStrategyFoundError,
)
from labgrid.factory import target_factory
from labgrid.remote.client import find_role_by_place
from labgrid.resource.remote import RemotePlace
from labgrid.util.proxy import proxymanager

from rtscope.farm.farmfile import BoardSpec
from rtscope.model.errors import RtscopeError
from rtscope.target.connection import Destination

_HOST_KEY: Final = ("-oStrictHostKeyChecking=no", "-oUserKnownHostsFile=/dev/null")
"""as labgrid's SSHDriver has them: a board that is flashed again has another key"""
_KNOWN_DRIVERS: Final = {
    "NetworkPowerPort": "NetworkPowerDriver",
    "PDUDaemonPort": "PDUDaemonDriver",
    "NetworkUSBPowerPort": "USBPowerDriver",
    "NetworkSiSPMPowerPort": "SiSPMPowerDriver",
    "TasmotaPowerPort": "TasmotaPowerDriver",
    "NetworkSerialPort": "SerialDriver",
    "RawSerialPort": "SerialDriver",
}
"""drivers of resources, where there is no environment file"""
_READ_S: Final = 0.5


def open_target(spec: BoardSpec, environment: Path | None, place: str) -> Target:
    """The target of a place that is acquired, with nothing active. Raises RtscopeError."""
    if environment is None:
        target = Target(place)
        RemotePlace(target, name=place)
        for resource in list(target.resources):
            driver = _KNOWN_DRIVERS.get(type(resource).__name__)
            if driver:
                target_factory.make_driver(target, driver, None, {})
        return target
    found = Environment(str(environment))
    roles = found.config.get_targets()
    role = role_of(spec, roles, place, environment)
    _set_place(roles[role], place)
    images = {name: str(environment.parent / image) for name, image in spec.images.items()}
    found.config.data.setdefault("images", {}).update(images)
    return found.get_target(role)


def check_role(spec: BoardSpec, environment: Path, place: str) -> None:
    """Refuse an environment file that cannot be read, or has no target for a place. Raises
    RtscopeError.
    """
    try:
        roles = Config(str(environment)).get_targets()
    except (NoConfigFoundError, InvalidConfigError, OSError) as error:
        raise RtscopeError(f"labgrid: {error}") from None
    role_of(spec, roles, place, environment)
    for image in spec.images.values():
        if not (environment.parent / image).exists():
            raise RtscopeError(f"the image {environment.parent / image} does not exist")


def role_of(spec: BoardSpec, roles: dict[str, Any], place: str, environment: Path) -> str:
    """The name of the target in the environment that a place is used as. Raises RtscopeError."""
    if spec.role:
        if spec.role not in roles:
            raise RtscopeError(
                f"{environment} has no target '{spec.role}': its targets are {', '.join(roles)}"
            )
        return spec.role
    role = find_role_by_place(copy.deepcopy(roles), place)
    if role is None and len(roles) == 1:
        (role,) = roles
    if role is None:
        raise RtscopeError(
            f"{environment} has no target with a RemotePlace named {place}: name the target to use "
            f"with role in the farm file, one of {', '.join(roles)}"
        )
    return str(role)


def _set_place(role: dict[str, Any], place: str) -> None:
    """Let a target use this place, whichever the environment names."""
    resources = role.setdefault("resources", {})
    remote = {"name": place}
    if isinstance(resources, dict):
        resources["RemotePlace"] = remote
        return
    kept = [
        one for one in resources if "RemotePlace" not in one and one.get("cls") != "RemotePlace"
    ]
    resources[:] = [{"RemotePlace": remote}, *kept]


def driver_of(target: Target, protocol: str) -> Any:  # noqa: ANN401 - labgrid has no types
    """The driver of a protocol, active; None if there is none."""
    try:
        return target.get_driver(protocol)
    except NoDriverFoundError:
        return None


def strategy_of(target: Target) -> Any:  # noqa: ANN401 - labgrid has no types
    """The strategy; None if there is none."""
    try:
        return target.get_strategy()
    except NoStrategyFoundError:
        return None


def destination_of_target(target: Target) -> Destination | None:
    """The address of its sshd; None if it has none."""
    try:
        service = target.get_resource("NetworkService", wait_avail=False)
    except NoResourceFoundError:
        return None
    ssh = next((one for one in target.drivers if type(one).__name__ == "SSHDriver"), None)
    options = list(_HOST_KEY)
    if ssh and ssh.keyfile:
        key = target.env.config.resolve_path(ssh.keyfile) if target.env else ssh.keyfile
        options.append(f"-i{key}")
    address, _, interface = service.address.partition("%")
    proxy = proxymanager.get_command(service, address, service.port, interface or None)
    if proxy:
        options.append(f"-oProxyCommand={' '.join(proxy)}")
    user = (ssh.username if ssh else "") or service.username
    return Destination(f"{user}@{address}" if user else address, str(service.port), tuple(options))


def console_reader(console: Any) -> Callable[[], bytes]:  # noqa: ANN401 - labgrid has no types
    """What a ConsoleWatcher reads with."""

    def read() -> bytes:
        try:
            data = bytes(console.read(timeout=_READ_S))
        except pexpect.TIMEOUT:
            return b""
        except Exception as error:  # the driver's own, and labgrid's for an inactive one
            raise OSError(f"the console has ended: {error}") from None
        if not data:
            time.sleep(_READ_S)
        return data

    return read


def shut(target: Target) -> None:
    """Deactivate all drivers; those of ssh first, before something else ends their connection."""
    ordered = sorted(target.drivers, key=lambda one: type(one).__name__ != "SSHDriver")
    for driver in ordered:
        target.deactivate(driver)
    target.cleanup()
