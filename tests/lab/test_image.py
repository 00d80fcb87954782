# SPDX-License-Identifier: GPL-2.0-only
"""The initramfs is the same bytes for the same files, and holds what it was given."""

import random
import stat

from hypothesis import given
from hypothesis import strategies as st

from rtscope.lab.image import initramfs

NAMES = st.text("abc", min_size=1, max_size=5)


def entries(archive: bytes) -> dict[str, tuple[int, bytes]]:
    """Mode and content of each entry of a cpio archive, read as the kernel reads it."""
    found: dict[str, tuple[int, bytes]] = {}
    at = 0
    while True:
        assert archive[at : at + 6] == b"070701"
        fields = [int(archive[at + 6 + 8 * n : at + 14 + 8 * n], 16) for n in range(13)]
        mode, time, size, name_size = fields[1], fields[5], fields[6], fields[11]
        assert time == 0
        name = archive[at + 110 : at + 110 + name_size - 1].decode()
        data_at = (at + 110 + name_size + 3) // 4 * 4
        if name == "TRAILER!!!":
            return found
        found[name] = (mode, archive[data_at : data_at + size])
        at = (data_at + size + 3) // 4 * 4


@given(st.dictionaries(st.builds("x/{}".format, NAMES), st.binary(max_size=9)), st.randoms())
def test_equal_files_make_equal_bytes_in_whatever_order(
    files: dict[str, bytes], chance: random.Random
) -> None:
    shuffled = list(files.items())
    chance.shuffle(shuffled)

    assert initramfs(dict(shuffled)) == initramfs(files)


@given(st.dictionaries(NAMES, st.binary(max_size=9), min_size=1))
def test_an_image_holds_its_files_below_directories_that_come_first(
    files: dict[str, bytes],
) -> None:
    files = {f"deep/er/{name}": data for name, data in files.items()}
    found = entries(initramfs(files))

    assert {name: data for name, (mode, data) in found.items() if stat.S_ISREG(mode)} == files
    names = list(found)
    assert stat.S_ISDIR(found["deep/er"][0])
    assert all(names.index("deep/er") < names.index(name) for name in files)


def test_only_init_can_be_run_and_the_console_is_a_device() -> None:
    found = entries(initramfs({"init": b"1", "modules/a.ko": b"2"}))

    assert found["init"][0] == stat.S_IFREG | 0o755
    assert found["modules/a.ko"][0] == stat.S_IFREG | 0o444
    assert stat.S_ISCHR(found["dev/console"][0])
