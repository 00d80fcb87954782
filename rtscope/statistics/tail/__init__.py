# SPDX-License-Identifier: GPL-2.0-only
"""Bounds on the tail of a run, by extreme value theory."""
