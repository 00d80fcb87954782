# SPDX-License-Identifier: GPL-2.0-only
"""Whether a candidate is slower than a baseline, from several runs of each."""
