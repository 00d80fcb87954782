# SPDX-License-Identifier: GPL-2.0-only
"""Tables that the terminal and the page both show."""
