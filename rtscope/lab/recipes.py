# SPDX-License-Identifier: GPL-2.0-only
"""The kernels that the lab knows how to build: the tables of kernel/kernels.toml."""

from functools import cache
from pathlib import Path

import msgspec

from rtscope.model.errors import RtscopeError


class Architecture(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How kernels of one architecture, named as uname -m says it, are built and booted."""

    make: str
    """its name in the kernel's Makefile: ARCH="""
    cross: str
    """what the names of its compiler and binutils begin with on other machines"""
    package: str
    """Debian's package of that compiler"""
    image: str
    """what make makes, and where it then is in the folder of objects"""
    options: list[str] = []
    """of the kernel's command line, in every mode"""
    exact_options: list[str] = []
    """of the kernel's command line where time counts instructions"""


class Recipe(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a named kernel is built from, besides its source."""

    arch: str
    configs: list[str]
    """fragments of kernel/configs, the later over the earlier"""
    source: str = "linux-source-6.12"
    """Debian's package of the source, unless another source is given"""
    patches: list[str] = []
    """series below kernel/patches, in their order"""
    board: str | None = None
    """of rtscope/lab/boards.py; None for the usual one of the architecture"""
    options: list[str] = []
    """of the kernel's command line, behind those of the architecture"""
    exact_options: list[str] = []
    """likewise"""


class Recipes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """kernel/kernels.toml."""

    architectures: dict[str, Architecture]
    kernels: dict[str, Recipe]


def kernel_folder() -> Path:
    """Where recipes, configurations, patches and modules are: in this package, or the checkout's.

    Raises RtscopeError where they are in neither.
    """
    package = Path(__file__).resolve().parents[1]
    places = [package / "kernel", package.parent / "kernel"]
    for place in places:
        if (place / "kernels.toml").is_file():
            return place
    raise RtscopeError(
        f"there is no kernels.toml in {' or '.join(map(str, places))}: install rtscope anew"
    )


@cache
def recipes() -> Recipes:
    """All recipes. Raises RtscopeError where the file is not as it should be."""
    path = kernel_folder() / "kernels.toml"
    try:
        return msgspec.toml.decode(path.read_bytes(), type=Recipes)
    except (OSError, msgspec.MsgspecError) as error:
        raise RtscopeError(f"{path} cannot be used: {error}") from None


def find_recipe(name: str) -> Recipe:
    """The recipe of this name. Raises RtscopeError where there is none."""
    known = recipes().kernels
    if name not in known:
        raise RtscopeError(
            f"there is no recipe for a kernel '{name}': the lab builds {', '.join(known)}; --name "
            "gives what is built from one of them another name"
        )
    return known[name]
