# SPDX-License-Identifier: GPL-2.0-only
"""The command line: one file a command, which parses, calls and prints."""
