# SPDX-License-Identifier: GPL-2.0-only
"""Observers of experiments: they store, show and write results."""
