# SPDX-License-Identifier: GPL-2.0-only
"""What an experiment says about a cause, in words."""

from rtscope.model.proof import Arm, Proof
from rtscope.model.units import counted
from rtscope.wording.causes import term_text
from rtscope.wording.plain import plain
from rtscope.wording.values import time_text


def proof_lines(proof: Proof) -> list[str]:
    """The result, and what it is made of."""
    lines = [
        _result(proof),
        f"with it off: {_arm(proof.off)}; on: {_arm(proof.on)}; "
        f"{counted(proof.rounds, 'round')} in random order",
    ]
    if proof.dispersion > 1.05:
        lines.append(
            f"outliers come in bursts: blocks differ {proof.dispersion:.1f} times as much as "
            "independent outliers would, and the limits contain that"
        )
    lines += [f"not in effect: {plain(problem)}" for problem in proof.problems[:5]]
    lines.append("the change: " + "; ".join(plain(rule) for rule in proof.rules))
    return lines


def _result(proof: Proof) -> str:
    cause = f"'{term_text(proof.kind, proof.name)}'"
    above = f"outliers above {time_text(proof.above_ns)}"
    match proof.verdict:
        case "not-changed":
            return f"the change was not in effect, so nothing is known about {cause}"
        case "no-outliers":
            return f"no {above} with or without the change: measure for longer, or lower --above"
        case "fewer":
            return f"removing {cause} cut {above} by {_cut(proof)}"
        case "more":
            return (
                f"removing {cause} did not cut {above}: there were {proof.ratio or 0:.2g} times as "
                f"many{_ratio_limits(proof)}"
            )
        case "undecided":
            found = "" if proof.ratio is None else f" ({proof.ratio:.2g} times as many"
            limits = f", {_limits(proof)})" if found else ""
            return (
                f"not shown that removing {cause} cuts {above}{found}{limits}: measure more rounds"
            )


def _cut(proof: Proof) -> str:
    cut, low, high = (100 * (1 - (one or 0)) for one in (proof.ratio, proof.high, proof.low))
    return f"{cut:.0f} % ({low:.0f} to {high:.0f} %)"


def _ratio_limits(proof: Proof) -> str:
    return f" ({_limits(proof)})"


def _limits(proof: Proof) -> str:
    low = f"{proof.low or 0:.2g}"
    return f"{low} to {proof.high:.2g}" if proof.high is not None else f"{low} or more"


def _arm(arm: Arm) -> str:
    return f"{arm.outliers:,} of {counted(arm.samples, 'sample')}"
