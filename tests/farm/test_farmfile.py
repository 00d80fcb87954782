# SPDX-License-Identifier: GPL-2.0-only
"""Farm files: what they hold, and refusals that name the line."""

from pathlib import Path

import pytest

from rtscope.farm.farmfile import FarmFile, read_farm
from rtscope.model.errors import RtscopeError


def read(folder: Path, text: str) -> FarmFile:
    path = folder / "farm.toml"
    path.write_text(text)
    return read_farm(path)


def test_a_farm_has_boards_in_order(tmp_path: Path) -> None:
    file = read(
        tmp_path,
        'environment = "lab.yaml"\nlease_wait = "90s"\n'
        '[[board]]\nname = "a"\ntarget = "labgrid:soc=imx8,rev=2"\nimages = { kernel = "I" }\n'
        '[[board]]\ntarget = "labgrid:shelf-3"\nquiet_wait = "5m"\n[[board]]\ntarget = "local"\n',
    )
    tagged, named, here = file.farm.board
    assert tagged.filters == {"soc": "imx8", "rev": "2"}
    assert named.filters == {"name": "shelf-3"}
    assert not here.filters
    assert (tagged.title, named.title) == ("a", "labgrid:shelf-3")
    assert (file.farm.lease_wait, named.quiet_wait) == (90 * 10**9, 300 * 10**9)
    assert file.environment == tmp_path / "lab.yaml"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('[[board]]\ntarget = "local"\nqiet = true\n', 3),
        ('colour = "red"\n[[board]]\ntarget = "local"\n', 1),
        ('[[board]]\nname = "a"\n', 1),
        ('[[board]]\ntarget = "telnet:x"\n', 2),
        ('[[board]]\ntarget = "ssh:"\n', 2),
        ('[[board]]\ntarget = "labgrid:a=b=c"\n', 2),
        ('[[board]]\ntarget = "labgrid:a b"\n', 2),
        ('[[board]]\ntarget = "local"\nboot_wait = 5\n', 3),
        ('[[board]]\ntarget = "local"\nboot_wait = "5 moons"\n', 3),
        ('[[board]]\ntarget = "labgrid:x"\nrecoveries = 101\n', 3),
        ('[[board]]\ntarget = "ssh:x"\nstate = "barebox"\n', 3),
        ('[[board]]\ntarget = "local"\n[[board]]\ntarget = "ssh:x"\nname = "local"\n', 5),
    ],
)
def test_a_bad_farm_file_is_refused_with_its_line(tmp_path: Path, text: str, line: int) -> None:
    with pytest.raises(RtscopeError) as refused:
        read(tmp_path, text)
    assert str(refused.value).startswith(f"{tmp_path}/farm.toml:{line}: ")


def test_a_farm_without_a_board_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RtscopeError):
        read(tmp_path, "board = []\n")
