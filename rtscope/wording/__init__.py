# SPDX-License-Identifier: GPL-2.0-only
"""Findings in words: the only package with prose about results."""
