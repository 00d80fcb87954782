# SPDX-License-Identifier: GPL-2.0-only
"""The rules by subject, each a list RULES."""
