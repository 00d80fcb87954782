# SPDX-License-Identifier: GPL-2.0-only
"""Published tables as data: one TOML file a publication; docs/references.md tells its format."""
