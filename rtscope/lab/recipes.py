# SPDX-License-Identifier: GPL-2.0-only
"""The kernels that the lab can build: the tables of kernel/kernels.toml."""

from functools import cache
from pathlib import Path

import msgspec

from rtscope.model.errors import RtscopeError


class Architecture(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How kernels of one architecture (as in uname -m) are built and booted."""

    make: str
    """its name in the kernel's Makefile: ARCH="""
    cross: str
    """prefix of its compiler and binutils on other architectures"""
    package: str
    """that compiler's Debian package"""
    image: str
    """make's goal, and its path in the directory of objects"""
    options: list[str] = []
    """kernel parameters in every mode"""
    exact_options: list[str] = []
    """kernel parameters in exact mode"""


class Recipe(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The inputs of a named kernel besides its source."""

    arch: str
    configs: list[str]
    """fragments of kernel/configs; later ones override earlier ones"""
    source: str = "linux-source-6.12"
    """Debian package of the source, unless another source is given"""
    patches: list[str] = []
    """series below kernel/patches, in order"""
    board: str | None = None
    """board of rtscope/lab/boards.py; None for the default of the architecture"""
    options: list[str] = []
    """kernel parameters after those of the architecture"""
    exact_options: list[str] = []
    """likewise"""


class Recipes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """kernel/kernels.toml."""

    architectures: dict[str, Architecture]
    kernels: dict[str, Recipe]


def kernel_folder() -> Path:
    """The directory of recipes, configurations, patches and modules: in this package, or in the
    checkout. Raises RtscopeError if it is in neither.
    """
    package = Path(__file__).resolve().parents[1]
    places = [package / "kernel", package.parent / "kernel"]
    for place in places:
        if (place / "kernels.toml").is_file():
            return place
    raise RtscopeError(
        f"there is no kernels.toml in {' or '.join(map(str, places))}: reinstall rtscope"
    )


@cache
def recipes() -> Recipes:
    """All recipes. Raises RtscopeError if the file is invalid."""
    path = kernel_folder() / "kernels.toml"
    try:
        return msgspec.toml.decode(path.read_bytes(), type=Recipes)
    except (OSError, msgspec.MsgspecError) as error:
        raise RtscopeError(f"{path} cannot be used: {error}") from None


def find_recipe(name: str) -> Recipe:
    """The recipe of this name. Raises RtscopeError if there is none."""
    known = recipes().kernels
    if name not in known:
        raise RtscopeError(
            f"there is no recipe for a kernel '{name}': the lab builds {', '.join(known)}; --name "
            "stores the result under another name"
        )
    return known[name]
