# SPDX-License-Identifier: GPL-2.0-only
"""What people see of a run: the terminal, the live view, the HTML page."""
