# SPDX-License-Identifier: GPL-2.0-only
"""rtscope: measure, explain and prove how late a Linux machine answers."""

__version__ = "0.1.0"
