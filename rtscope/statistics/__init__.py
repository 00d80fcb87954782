# SPDX-License-Identifier: GPL-2.0-only
"""Metrics, confidence, comparison and verdicts: pure functions over the model."""
