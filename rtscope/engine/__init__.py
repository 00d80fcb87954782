# SPDX-License-Identifier: GPL-2.0-only
"""Plans and the runner: what is asked becomes runs."""
