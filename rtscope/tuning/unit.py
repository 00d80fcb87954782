# SPDX-License-Identifier: GPL-2.0-only
"""A systemd unit that holds a profile after each boot."""

from collections.abc import Sequence


def systemd_unit(profile: str, agent: str, arguments: Sequence[str]) -> str:
    """The unit's text. It runs only the agent; systemd ends it with SIGTERM, which undoes all
    changes.
    """
    command = " ".join(_quoted(word) for word in [agent, *arguments])
    return f"""[Unit]
Description=rtscope tune hold {profile}
Documentation=man:systemd.service(5)
After=sysinit.target irqbalance.service

[Service]
ExecStart={command}
Restart=on-failure
RestartSec=5
TimeoutStopSec=30

[Install]
WantedBy=multi-user.target
"""


def _quoted(word: str) -> str:
    """Quote a word for ExecStart= (systemd.service(5), "Command lines")."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"'
