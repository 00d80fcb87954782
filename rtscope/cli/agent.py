# SPDX-License-Identifier: GPL-2.0-only
"""rtscope agent: the program that measures, run by hand."""

import os
import sys
from typing import Any

import typer
from typer.core import TyperCommand

from rtscope.target.local import agent_path


class AgentCommand(TyperCommand):
    """A command that passes all its words to the agent, including --help and --."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - as in main.py
        """Pass the words on unchanged."""
        ctx.args = args
        return args


def agent(context: typer.Context) -> None:
    """
    \b
    rtscope agent cyclic -m -S -p 80 -D 1m
    rtscope agent loop -D 8s -q
    """
    sys.stdout.flush()
    path = agent_path()
    os.execv(path, [str(path), *context.args])  # noqa: S606 - no shell
