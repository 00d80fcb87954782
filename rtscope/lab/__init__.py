# SPDX-License-Identifier: GPL-2.0-only
"""Kernels, images and emulated machines: real kernels whose time is counted in instructions."""
