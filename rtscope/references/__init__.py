# SPDX-License-Identifier: GPL-2.0-only
"""Published tables as data: one TOML file for each publication (docs/reference/references.md)."""
