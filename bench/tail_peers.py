# SPDX-License-Identifier: GPL-2.0-only
"""Fits of known tails by rtscope and by pyextremes, of the same peaks and block maxima.

    pip install '.[peers]'
    python bench/tail_peers.py [RUNS]

Both fit by maximum likelihood, so their parameters have to agree. rtscope does without pyextremes:
its limits are those of random refits and not of the profile likelihood, it has no tests of the
model's assumptions, and it needs pandas, matplotlib and emcee.
"""

import sys
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[1]))
from rtscope.statistics.tail import blocks, pareto
from rtscope.statistics.tail.clusters import clusters
from tests.statistics.tail.synthetic import ABOVE, KNOWN, SAMPLES, SCALE, run_with

try:
    import pandas as pd  # type: ignore[import-not-found, import-untyped, unused-ignore]
    from pyextremes import EVA  # type: ignore[import-not-found, import-untyped, unused-ignore]
except ImportError:
    print("pyextremes is not installed: pip install '.[peers]'")
    sys.exit(0)

_HOUR_S = 3600


def _fitted(values: NDArray[np.float64], method: str, **arguments: object) -> dict[str, float]:
    """The parameters by pyextremes, which takes a value for each moment."""
    moments = np.linspace(0, _HOUR_S, len(values), endpoint=False)
    dates = pd.Timestamp("2026-01-01") + pd.to_timedelta(moments, unit="s")
    model = EVA.from_extremes(pd.Series(values, index=dates), method, **arguments)
    model.fit_model("MLE", distribution="genpareto" if method == "POT" else "genextreme")
    return {name: float(value) for name, value in model.distribution.mle_parameters.items()}


def main() -> None:
    """Print the largest differences for each kind of tail."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    for known in KNOWN[:4]:
        differences = []
        begun_s = time.process_time()
        for seed in range(runs):
            kept = run_with(known, seed).threads[0].exceedances
            assert kept is not None
            times = np.asarray(kept.time_ns, dtype=float) / 10_000_000
            found = clusters(times, np.asarray(kept.latency_ns, dtype=float))
            excesses = (found.maxima - ABOVE + 1) / SCALE
            ours = pareto.fit(excesses)
            theirs = _fitted(excesses, "POT", threshold=0.0, r="1ns")
            largest = blocks.block_maxima(found, ABOVE - 1, SAMPLES)
            assert largest is not None
            maxima = largest / SCALE
            our_blocks = blocks.fit(maxima)
            their_blocks = _fitted(
                maxima, "BM", block_size=pd.Timedelta(_HOUR_S / len(maxima), unit="s")
            )
            differences.append(
                (
                    abs(ours.shape - theirs["c"]),
                    abs(ours.scale / theirs["scale"] - 1),
                    abs(our_blocks.shape + their_blocks["c"]),
                    abs(our_blocks.scale / their_blocks["scale"] - 1),
                )
            )
        shape, scale, block_shape, block_scale = np.max(differences, axis=0)
        print(
            f"{known.name}, {runs} runs: largest difference, peaks: shape {shape:.5f}, scale "
            f"{100 * scale:.3f} %; block maxima: shape {block_shape:.5f}, scale "
            f"{100 * block_scale:.3f} % ({time.process_time() - begun_s:.0f} s of CPU time)",
            flush=True,
        )


if __name__ == "__main__":
    main()
