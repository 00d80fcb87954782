# SPDX-License-Identifier: GPL-2.0-only
"""The HTML report: one file with its charts as SVG, which needs no network."""
