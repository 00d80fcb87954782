# SPDX-License-Identifier: GPL-2.0-only
"""A source that make and the lab take for a kernel's; its kernel is head and init/main.c."""

from pathlib import Path
from typing import Final

MAKEFILE: Final = """\
VERSION = 6
PATCHLEVEL = 12
SUBLEVEL = 99
allnoconfig:
	mkdir -p $(O)/arch/arm64/boot
	sed s/CONFIG_HOTPLUG_CPU=y// $(KCONFIG_ALLCONFIG) >$(O)/.config
	cat always.config >>$(O)/.config
Image:
	@echo "  CC      init/main.o"
	cat head init/main.c >$(O)/arch/arm64/boot/Image
	echo 0 >$(O)/System.map
modules:
"""


def tiny_kernel(tree: Path) -> Path:
    """Write it into a new directory."""
    (tree / "init").mkdir(parents=True)
    (tree / "Kbuild").touch()
    (tree / "Makefile").write_text(MAKEFILE)
    (tree / "always.config").write_text("CONFIG_HOTPLUG_CPU=y\n")
    (tree / "head").write_bytes(bytes(0x38) + b"ARM\x64" + b"Linux version 6.12.99 (x)\n")
    (tree / "init" / "main.c").write_text("one\ntwo\nthree\nfour\n")
    return tree
