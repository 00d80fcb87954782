# SPDX-License-Identifier: GPL-2.0-only
"""Figures, confidence, comparison and verdicts: pure functions over the model."""
