# SPDX-License-Identifier: GPL-2.0-only
"""The work of the loads during a measurement."""

from rtscope.model.run import LoadWork


def work_per_second(load: LoadWork) -> dict[str, float]:
    """Rates by unit, such as {"bytes_written": 1.2e6}; empty if the load's duration is unknown."""
    if load.seconds <= 0:
        return {}
    return {unit: total / load.seconds for unit, total in load.work.items()}
