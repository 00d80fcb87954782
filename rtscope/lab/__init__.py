# SPDX-License-Identifier: GPL-2.0-only
"""Kernels, images and VMs: real kernels with instruction-exact time."""
