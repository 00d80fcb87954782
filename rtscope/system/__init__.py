# SPDX-License-Identifier: GPL-2.0-only
"""The audit's rules: what stands in the way of a machine that has to answer in time."""
