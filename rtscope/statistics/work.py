# SPDX-License-Identifier: GPL-2.0-only
"""What the loads beside a measurement did."""

from rtscope.model.run import LoadWork


def work_per_second(load: LoadWork) -> dict[str, float]:
    """Rates by unit, such as {"bytes_written": 1.2e6}; empty where the load's time is not known."""
    if load.seconds <= 0:
        return {}
    return {unit: total / load.seconds for unit, total in load.work.items()}
