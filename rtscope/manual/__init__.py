# SPDX-License-Identifier: GPL-2.0-only
"""The man pages, from the tables of options and the reference pages of docs/."""
