# SPDX-License-Identifier: GPL-2.0-only
"""The engine: it measures the cells of a plan."""
